// SPDX-License-Identifier: MIT OR Apache-2.0

//! Any bytes are read as a journal, and what is read does not depend on what is behind it: a record is lost, or it is there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use voiced::journal::read;

fuzz_target!(|data: &[u8]| {
    let whole = read(data);
    assert!(whole.calls.len() * 16 <= data.len() + 16, "more calls than there is room for");
    // Whatever a power cut leaves of it is read too.
    let half = read(&data[..data.len() / 2]);
    assert!(half.calls.len() <= whole.calls.len() + 1, "what was cut off brought calls");
});
