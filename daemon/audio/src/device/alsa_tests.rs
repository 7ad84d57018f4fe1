// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is asked of a device, and what is made of what it says.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::sync::atomic::Ordering::Acquire;

use super::*;

fn offer(channels: u16, min: u32, max: u32, format: SampleFormat) -> SupportedStreamConfigRange {
    SupportedStreamConfigRange::new(channels, min, max, SupportedBufferSize::Unknown, format)
}

fn chosen(offers: &[SupportedStreamConfigRange], prefer: impl Fn(u16) -> u16) -> (u32, u16, SampleFormat) {
    let choice = choose(offers, PERIOD, prefer).unwrap();
    (choice.rate, choice.channels, choice.format)
}

#[test]
fn the_format_nearest_to_48_khz_is_chosen() {
    let offers = [
        offer(2, 8_000, 44_100, SampleFormat::F32),
        offer(2, 8_000, 192_000, SampleFormat::I16),
        offer(2, 8_000, 192_000, SampleFormat::I32),
        offer(1, 96_000, 96_000, SampleFormat::F32),
        offer(2, 48_000, 48_000, SampleFormat::U8),
    ];
    assert_eq!(chosen(&offers, |channels| channels), (48_000, 2, SampleFormat::I32));
}

#[test]
fn a_channel_that_is_wanted_beats_the_rate() {
    let offers = [offer(1, 48_000, 48_000, SampleFormat::F32), offer(6, 16_000, 16_000, SampleFormat::I16)];
    let prefer = |channels| if channels < 3 { UNFIT } else { channels };
    assert_eq!(chosen(&offers, prefer), (16_000, 6, SampleFormat::I16));
}

#[test]
fn no_usable_format_is_said_with_what_there_is() {
    let offers = [offer(1, 8_000, 8_000, SampleFormat::U8)];
    assert_eq!(choose(&offers, PERIOD, |channels| channels), None);
    assert_eq!(offered(&offers), "1 channels 8000..=8000 Hz u8");
    assert_eq!(offered(&[]), "it offers none at all");
}

#[test]
fn the_period_asked_for_stays_within_what_the_device_can() {
    let range = SupportedBufferSize::Range { min: 1_024, max: 4_096 };
    let offers = [SupportedStreamConfigRange::new(1, 48_000, 48_000, range, SampleFormat::F32)];
    assert_eq!(choose(&offers, PERIOD, |channels| channels).unwrap().period, BufferSize::Fixed(1_024));
}

#[test]
fn the_worst_error_is_noted_and_a_harmless_one_not_at_all() {
    let health = Arc::new(Health::default());
    let mut report = on_error(Arc::clone(&health));
    report(ErrorKind::Xrun.into());
    assert_eq!(health.fault.load(Acquire), 0);
    report(ErrorKind::BackendError.into());
    assert_eq!(Fault::from_code(health.fault.load(Acquire)), Some(Fault::Broken));
    report(ErrorKind::DeviceNotAvailable.into());
    report(ErrorKind::BackendError.into());
    assert_eq!(Fault::from_code(health.fault.load(Acquire)), Some(Fault::Gone));
}

#[test]
fn errors_say_what_to_do() {
    let text = |kind: ErrorKind| explain("capture device `x`".into(), &kind.into()).line();
    assert!(text(ErrorKind::PermissionDenied).contains("add the user to group `audio`"));
    assert!(text(ErrorKind::DeviceBusy).contains("in use by another program"));
    assert!(text(ErrorKind::DeviceNotAvailable).contains("there is no capture device `x`"));
    assert!(text(ErrorKind::UnsupportedConfig).contains("plughw:"));
    assert!(text(ErrorKind::BackendError).contains("sound server"));
}
