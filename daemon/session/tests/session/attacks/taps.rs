// SPDX-License-Identifier: MIT OR Apache-2.0

//! Those with a screen or a button in them.

use super::{asked, runs, says};

#[test]
fn a_tap_alone_is_never_enough_where_a_yes_is_needed_too() {
    let told = asked(
        r#"
3000 call a va
3100 started 1
4000 finished 1 heard=900ms
5000 speech-started
5500 speech-ended voiced=400ms
5600 user-text hmm what
6100 started 2
7000 finished 2 heard=900ms
8000 speech-started
8500 speech-ended voiced=400ms
8600 user-text hmm what
9100 shown 1
11000 tap 3 confirm for=1900ms
12000 end
"#,
    );
    assert_eq!(runs(&told, "va"), 0);
}

#[test]
fn two_taps_are_no_yes_and_a_tap() {
    let told = asked(
        r#"
3000 call a va
3050 shown 1
3100 started 1
4000 tap 3 confirm for=900ms
4500 finished 1 heard=900ms
5000 speech-started
5500 speech-ended voiced=400ms
5600 user-text hmm what
6100 started 2
7000 finished 2 heard=900ms
8000 speech-started
8500 speech-ended voiced=400ms
8600 user-text hmm what
9100 shown 1
11000 tap 3 confirm for=1900ms
12000 end
"#,
    );
    assert_eq!(runs(&told, "va"), 0);
}

#[test]
fn a_no_on_the_screen_is_told() {
    let told = asked(
        r#"
3000 call a vt
3050 shown 1
3100 started 1
4000 finished 1 heard=900ms
5000 tap 2 decline for=1900ms
60000 end
"#,
    );
    assert!(says(&told, "note \"[About") && says(&told, "They said no"));
}

#[test]
fn a_sheet_has_the_time_of_its_question() {
    let told = asked(
        r#"
3000 call a vt
3050 shown 1
3100 started 1
4000 finished 1 heard=900ms
45000 speech-started
45500 speech-ended voiced=400ms
45600 user-text hmm what is that
46100 started 2
47000 finished 2 heard=900ms
52000 tap 2 confirm for=48900ms
53000 tap 2 confirm for=49900ms
120000 end
"#,
    );
    assert_eq!(runs(&told, "vt"), 1);
}

#[test]
fn a_no_takes_back_a_tap_whose_call_waits() {
    let told = asked(
        r#"
3000 call j doorjob
3100 call a tdoor
3200 shown 1
5000 tap 4 confirm for=1800ms
6000 speech-started
6900 speech-ended voiced=800ms
7000 user-text no stop cancel that
300000 person-changed
400000 outcome 1 success {}
401000 end
"#,
    );
    assert_eq!(runs(&told, "tdoor"), 0);
    assert!(says(&told, "They said no"));
}

#[test]
fn a_no_after_the_yes_of_two_acts_counts_whatever_was_heard() {
    let told = asked(
        r#"
3000 call a va
3050 shown 1
3100 started 1
4000 finished 1 heard=900ms
5000 speech-started
5400 speech-ended voiced=350ms
5450 user-text yes
6500 audio 500ms
6510 started 2
6520 turn-complete
7100 finished 2 heard=500ms
8000 speech-started
8500 speech-ended voiced=400ms
8600 user-text no no don't do it
10000 tap 3 confirm for=5900ms
12000 end
"#,
    );
    assert_eq!(runs(&told, "va"), 0);
}

#[test]
fn a_short_no_after_the_yes_of_two_acts_counts() {
    let told = asked(
        r#"
3000 call a va
3050 shown 1
3100 started 1
4000 finished 1 heard=900ms
5000 speech-started
5400 speech-ended voiced=350ms
5450 user-text yes
8000 speech-started
8300 speech-ended voiced=140ms
8400 user-text no
10000 tap 3 confirm for=5900ms
12000 end
"#,
    );
    assert_eq!(runs(&told, "va"), 0);
}

#[test]
fn what_has_changed_takes_no_agreement_to_something_else() {
    let told = asked(
        r#"
3000 call a vt
3050 shown 1
3100 started 1
4000 finished 1 heard=900ms
5000 tap 2 confirm for=1900ms
5100 call c v
5200 started 2
6000 finished 2 heard=800ms
6500 speech-started
6900 speech-ended voiced=350ms
7000 user-text yes
7500 superseded 2 Do vt dearer.
7600 call d v
12000 end
"#,
    );
    assert_eq!((runs(&told, "vt"), runs(&told, "v")), (1, 1));
}

#[test]
fn a_question_that_nobody_pressed_for_is_told() {
    let told = asked(
        r#"
3000 call a b
3100 started 1
4000 finished 1 heard=900ms
90000 end
"#,
    );
    assert!(says(&told, "The question lapsed"));
}

#[test]
fn what_was_tapped_need_not_be_heard_to_its_end() {
    let told = asked(
        r#"
3000 call a vt
3050 shown 1
3100 started 1
4000 tap 2 confirm for=900ms
8000 finished 1 heard=4900ms
9000 outcome 2 success {}
9500 end
"#,
    );
    assert!(told.iter().any(|line| line == "flush") && runs(&told, "vt") == 1);
}

#[test]
fn a_tapped_call_that_fails_is_told_as_such() {
    let told = asked(
        r#"
3000 call a t
3050 shown 1
5000 tap 1 confirm for=1900ms
6000 outcome 2 error {"error":"the t tool failed"}
6500 end
"#,
    );
    assert!(says(&told, "it was not done") && !says(&told, "it was done"));
}

#[test]
fn a_tap_whose_call_waits_too_long_is_void() {
    let told = asked(
        r#"
2900 call s1 slow {"n":"1"} | s2 slow {"n":"2"} | s3 slow {"n":"3"} | s4 slow {"n":"4"}
3000 call a t
3050 shown 1
5000 tap 1 confirm for=1900ms
200000 end
"#,
    );
    assert_eq!(runs(&told, "t"), 0);
    assert!(says(&told, "it was not done"));
}

#[test]
fn a_question_that_moves_keeps_its_sheet() {
    let told = asked(
        r#"
3000 call a vt
3050 shown 1
3100 started 1
3600 speech-started
3900 cut 1 heard=700ms
4100 speech-ended voiced=450ms
4700 started 2
5200 speech-started
5500 cut 2 heard=700ms
5700 speech-ended voiced=450ms
6300 started 3
6600 speech-started
6900 cut 3 heard=700ms
7100 speech-ended voiced=450ms
9000 tap 2 confirm for=5900ms
9100 end
"#,
    );
    assert_eq!(told.iter().filter(|line| line.starts_with("sheet pending-1")).count(), 1);
}
