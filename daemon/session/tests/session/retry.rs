// SPDX-License-Identifier: MIT OR Apache-2.0

//! How long a lost link is waited for.

use std::time::Duration;

use session::{Config, Engage, FailureCause, Input, LinkFailure, RetryConfig, Session};
use units::Instant;

use crate::shop::{Shop, Stock};

/// The wait after the first failure, with this seed.
fn first_wait(seed: u64, retry: &RetryConfig) -> Duration {
    let config = Config { engage: Engage::Always, retry: retry.clone(), ..Config::default() };
    let mut session = Session::new(config, Box::new(Shop::new(Stock::Plain)), seed);
    session.handle(Instant::ZERO, Input::Start);
    while session.poll().is_some() {}
    let lost = Instant::ZERO + Duration::from_secs(1);
    let failure = LinkFailure { cause: FailureCause::Transient, text: "gone".into() };
    session.handle(lost, Input::LinkClosed(failure));
    while session.poll().is_some() {}
    session.deadline().unwrap() - lost
}

#[test]
fn waits_of_a_fleet_are_spread_evenly_around_the_set_one() {
    let retry = RetryConfig { jitter_percent: 20, ..Config::default().retry };
    let waits: Vec<_> = (0..500).map(|seed| first_wait(seed, &retry)).collect();
    let percent = |of: Duration| of.as_millis() * 100 / retry.first.as_millis();
    let percents: Vec<_> = waits.iter().map(|wait| percent(*wait)).collect();
    assert!(percents.iter().all(|percent| (80..=120).contains(percent)), "{percents:?}");
    // 41 values that are equally likely: none is missing among 500, but for two sets of seeds in ten thousand.
    let missing: Vec<_> = (80..=120).filter(|percent| !percents.contains(percent)).collect();
    assert_eq!(missing, Vec::<u128>::new());
    assert_eq!(first_wait(7, &retry), first_wait(7, &retry), "the same seed waits as long");
}
