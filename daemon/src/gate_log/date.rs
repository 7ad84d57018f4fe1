// SPDX-License-Identifier: MIT OR Apache-2.0

//! Times of day as RFC 3339 writes them, in UTC.

const DAY_S: u64 = 86_400;

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: u64 = 719_468;

/// Days in 400 years.
const ERA_DAYS: u64 = 146_097;

/// `2026-11-30T21:30:36.250Z`, of milliseconds since 1970. Years are counted from March, so that a leap day is a year's last
/// (Hinnant, "chrono-compatible low-level date algorithms").
pub(super) fn rfc3339(unix_ms: u64) -> String {
    let (seconds, ms) = (unix_ms / 1000, unix_ms % 1000);
    let (days, second) = (seconds / DAY_S + EPOCH_DAYS, seconds % DAY_S);
    let (era, day) = (days / ERA_DAYS, days % ERA_DAYS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let day = day - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// The beginning of such a time, padded to a whole one: `2026-11-30`, or with hours, minutes, seconds. Whole ones sort as the times
/// do.
pub(super) fn from(text: &str) -> Option<String> {
    const ZERO: &str = "0000-01-01T00:00:00.000Z";
    let text = text.trim_end_matches('Z');
    let fits = text.len() >= 10
        && text.len() < ZERO.len()
        && text.bytes().zip(ZERO.bytes()).all(|(byte, like)| {
            if like.is_ascii_digit() {
                byte.is_ascii_digit()
            } else {
                byte == like || (like == b'T' && byte == b' ')
            }
        });
    fits.then(|| format!("{}{}", text.replace(' ', "T"), &ZERO[text.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_796_074_236_250, "2026-11-30T21:30:36.250Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(ms), text);
        }
    }

    #[test]
    fn the_beginning_of_a_time_is_a_time() {
        for (text, whole) in [
            ("2026-11-30", Some("2026-11-30T00:00:00.000Z")),
            ("2026-11-30 21:30", Some("2026-11-30T21:30:00.000Z")),
            ("2026-11-30T21:30:36Z", Some("2026-11-30T21:30:36.000Z")),
            ("2026-11", None),
            ("yesterday!", None),
            ("2026-11-30T21:30:36.2500Z", None),
        ] {
            assert_eq!(from(text).as_deref(), whole, "{text}");
        }
    }
}
