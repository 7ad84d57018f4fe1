// SPDX-License-Identifier: MIT OR Apache-2.0

//! A binary of an integrator's own with a screen: questions are drawn on the terminal and answered with a key.
//!
//! A real screen does the same three things: it draws what it is told to, says when that is seen, and says where the person
//! tapped, and how long after. It decides nothing.

#![allow(clippy::print_stderr, reason = "the terminal is the screen")]

use std::collections::BTreeMap;
use std::io::BufRead;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::{Sheet, SheetAnswer};
use tokio::sync::mpsc;
use tools::{Cx, Gate, ToolError, ToolResult, tool};
use voiced::screen::{Screen, ScreenEvent, Screens};

/// Unlocks a locker for the person standing here. Use it when they ask for theirs.
#[derive(Serialize, Deserialize, JsonSchema)]
struct UnlockLocker {
    /// Locker number.
    #[schemars(range(min = 1, max = 48))]
    locker: u8,
}

async fn unlock_locker(args: UnlockLocker, cx: Cx) -> Result<ToolResult, ToolError> {
    cx.begin_effect()?;
    // … draw the bolt …
    Ok(ToolResult::ok(format!("Locker {} is open.", args.locker)))
}

/// Draws what it is told to, and tells what is typed: `y` or `n` for the last sheet, anything else puts it away.
async fn draw(mut screen: Screen, mut typed: mpsc::Receiver<String>) {
    let mut standing: BTreeMap<_, (Sheet, Instant)> = BTreeMap::new();
    loop {
        tokio::select! {
            event = screen.next() => match event {
                Some(ScreenEvent::Sheet(sheet)) => {
                    eprintln!("\n+--- {}\n| {}\n+--- y: do it   n: do not", sheet.slots.join(", "), sheet.summary);
                    screen.shown(sheet.pending);
                    standing.insert(sheet.pending, (sheet, Instant::now()));
                }
                Some(ScreenEvent::Closed(pending)) => {
                    standing.remove(&pending);
                    eprintln!("\n(the question is gone)");
                }
                None => return,
            },
            line = typed.recv() => {
                let Some(line) = line else { return };
                let Some((_, (sheet, seen))) = standing.last_key_value() else { continue };
                let answer = match line.trim() {
                    "y" => SheetAnswer::Confirm,
                    "n" => SheetAnswer::Decline,
                    _ => SheetAnswer::Dismiss,
                };
                screen.answer(sheet.nonce, answer, seen.elapsed());
            }
        }
    }
}

/// The screen has a thread of its own, so that drawing holds up nobody. `screens` is a clone of what the daemon has.
fn show_on_terminal(screens: Screens) {
    let (keys, typed) = mpsc::channel(8);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if keys.blocking_send(line).is_err() {
                return;
            }
        }
        // Nobody types any more: the daemon goes on without a screen.
    });
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(draw(screens.attach(), typed));
        runtime.shutdown_timeout(Duration::ZERO);
    });
}

fn main() -> ExitCode {
    let screens = Screens::default();
    show_on_terminal(screens.clone());
    voiced::Daemon::builder()
        .screens(screens)
        .tools(|tools| {
            let gate = Gate::touch(|args: &UnlockLocker| format!("Unlock locker {}.", args.locker));
            tools.tool(tool(unlock_locker).gate(gate.slots(|args| vec![args.locker.to_string()])))
        })
        .main()
}
