// SPDX-License-Identifier: MIT OR Apache-2.0

//! Transcripts: what the session does, input by input, kept as text that a person can read and judge.
//!
//! A line `t=MS in ...` is an input at that time, `t=MS late ...` one that comes before the timers that are due, as after a
//! suspend; `t=MS end` lets time pass; `t=MS view NAMES` changes what the catalog shows. Everything else but comments is written
//! by the session: `wake` is a timer that came, indented lines are outputs, and those with a dash are notices.
//! `UPDATE_GOLDEN=1` rewrites the files from their inputs.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use session::{Config, Engage, Input, Profile, Session};
use units::Instant;

use crate::shop::{Shop, Shown, Stock};
use crate::{render, script};

fn check(name: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    let expected = std::fs::read_to_string(&path).unwrap();
    let actual = replay(&expected);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).unwrap();
    } else if actual != expected {
        let line = actual.lines().zip(expected.lines()).position(|(a, e)| a != e);
        let line = line.unwrap_or_else(|| actual.lines().count().min(expected.lines().count()));
        panic!(
            "{} differs at line {}:\n  expected: {}\n  actual:   {}\nUPDATE_GOLDEN=1 rewrites it",
            path.display(),
            line + 1,
            expected.lines().nth(line).unwrap_or("(end)"),
            actual.lines().nth(line).unwrap_or("(end)"),
        );
    }
}

/// Runs the inputs of a transcript; the transcript as it should be.
fn replay(transcript: &str) -> String {
    let mut text = String::new();
    let mut session = None;
    let mut shown = Shown::default();
    // A comment stays with the input it stands before, whatever wakes come between.
    let mut comments = String::new();
    for line in transcript.lines() {
        if line.is_empty() || line.starts_with('#') || line.starts_with("config ") {
            writeln!(comments, "{line}").unwrap();
            if let Some(settings) = line.strip_prefix("config ") {
                let shop = Shop::new(stock(settings));
                shown = shop.shown();
                session = Some(Session::new(config(settings), Box::new(shop), 1));
            }
            continue;
        }
        let Some((at, what)) = line.strip_prefix("t=").and_then(|line| line.split_once(' ')) else {
            continue;
        };
        let what = what.trim_start();
        if what == "wake" {
            continue;
        }
        let session = session.as_mut().expect("the figures come before the first line");
        let at = Duration::from_millis(at.parse().unwrap());
        let late = what.strip_prefix("late ");
        if late.is_none() {
            pass_time(session, at, &mut text);
        }
        writeln!(text, "{}{line}", std::mem::take(&mut comments)).unwrap();
        if let Some(input) = late.or_else(|| what.strip_prefix("in ")) {
            session.handle(Instant::from_boot(at), script::input(input));
            drain(session, &mut text);
        } else if let Some(names) = what.strip_prefix("view ") {
            let names = names.split(' ').map(str::to_owned).collect();
            *shown.lock().unwrap() = (what != "view all").then_some(names);
        } else {
            assert_eq!(what, "end", "a line is an input, `view`, `end`, or written by the session");
        }
    }
    text
}

/// Gives the session its timeouts up to, and not at, `until`: what comes at the same instant as an input is part of it.
fn pass_time(session: &mut Session, until: Duration, text: &mut String) {
    while let Some(at) = session.deadline().filter(|at| at.since_boot() < until) {
        writeln!(text, "t={:<6} wake", at.since_boot().as_millis()).unwrap();
        session.handle(at, Input::Timeout);
        drain(session, text);
    }
}

fn drain(session: &mut Session, text: &mut String) {
    while let Some(output) = session.poll() {
        writeln!(text, "           {}", render::output(&output)).unwrap();
    }
}

/// Shipped figures, except that retries are not spread.
fn config(settings: &str) -> Config {
    let mut config = Config::default();
    config.retry.jitter_percent = 0;
    for setting in settings.split_whitespace() {
        config.engage = match setting {
            "always" => Engage::Always,
            "voice" => Engage::default(),
            "stocked" => continue,
            "voxa" => {
                config.max_follow_ups = Profile::Voxa.max_follow_ups();
                continue;
            }
            // For what is not about that wait.
            "at-once" => {
                config.settle = Duration::ZERO;
                continue;
            }
            other => panic!("no setting is called `{other}`"),
        };
    }
    config
}

fn stock(settings: &str) -> Stock {
    if settings.contains("stocked") { Stock::Full } else { Stock::Plain }
}

macro_rules! transcripts {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check(stringify!($name));
        }
    )*

        #[test]
        fn every_transcript_is_checked() {
            let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
            let mut files: Vec<_> = std::fs::read_dir(dir)
                .unwrap()
                .map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
                .collect();
            files.sort();
            let mut checked = vec![$(stringify!($name)),*];
            checked.sort_unstable();
            assert_eq!(files, checked);
        }
    };
}

transcripts! {
    bad_calls
    barge_in
    barge_in_noise
    barge_in_on_calls
    barge_in_provider
    call_deadline
    call_late_effect
    calls_taken_back
    calls_taken_back_doubt
    calls_undone
    calls_undone_not
    calls_unsent_truth
    clip_cases
    clip_kept
    clip_yields
    muted
    end_session
    end_session_barge_in
    end_session_speechless
    end_session_stuck
    follow_up_cap
    fresh_after_loss
    gate_arguments
    gate_asked_again_late
    gate_cut
    gate_early_yes
    gate_first_approval_then_call
    gate_flood
    gate_fresh_budget
    gate_no_evidence
    gate_open_turn
    gate_outlives_link
    gate_overtaken
    gate_overtaken_mid_turn
    gate_overtaken_reply
    gate_overtaken_unsure
    gate_readings
    gate_replaced_question
    gate_same_turn
    gate_second_thoughts
    gate_taken_back_yes
    gate_time
    gate_yes
    go_away_outbound
    go_away_loop
    go_away_resume
    go_away_young
    link_closed_late
    link_left_young
    link_permanent
    link_retry
    note_restart
    notes_dropped
    plain_turn
    repeated_calls
    setup_overdue
    slow_reply
    stop
    stopped_by_voice
    tool_with_instruction_and_clip
    t20_view
    t35_third_invalid
    t45_order
    t46_parallel
    t48_failed_step
    t50_pre_call
    t53_becomes_job
    t53_blocking_becomes_job
    t53_job
    t53_job_ends
    t86_silence
    t86_silence_meant
    t87_silence_asked
    t88_sweep
    t51_pre_call_covered
    t52_pre_call_gated
    t89_barge_in_done
    t103_ending_jobs
    t103_ending_outbound
    t104_end_call
    t58_voxa_cap
    t97_stale
    t98_while_speaking
    turn_record
    t99_settle
    t99_settle_grant
    t99_settle_ending
    uplink_hold
    voice_outage
    t53_told
    t53_told_late
    silence_nudge
    cut_reply_calls
    t92_made_again
    t92_lost_link
    t29_after_close
    go_away_deadline
    t61_silent_clip
    t82_unmarked
    t95_microphone
    t96_earlier_calls
    said_with_replies
    gate_edges
    empty_audio
    stop_by_voice
    spoken_last_turn
    gate_leaving
    gate_more_of_yes
    late_first_word
    clips_many
    calls_undone_over_speech
    calls_undone_wanted
    call_spoken
    t19_when_heard
    pace
    said
    urgent
    idempotent
}
