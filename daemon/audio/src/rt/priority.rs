// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the audio threads ask of the kernel: to run before others, and to stay in memory.
//!
//! Nothing here is called from a callback: a thread that moves audio is given its priority by the one that started it.

use std::fmt;
use std::io;

/// The priority of the worker, 1 ..= 99: above every ordinary thread, below the sound servers (5 ..= 20 by default, 88 for
/// PipeWire's) and the kernel's interrupt threads (50).
const WORKER: libc::c_int = 4;

/// That of the threads which call the callbacks: what they move, the worker waits for.
const CALLBACKS: libc::c_int = 5;

/// How the threads of the sound library are called.
const CALLBACK_THREADS: &str = "cpal_";

/// What a thread was given.
#[derive(Debug)]
pub(crate) struct Granted {
    priority: io::Result<()>,
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    Locked,
    /// More than this many bytes could not be locked, so nothing was: past the limit every allocation would fail.
    Limited(u64),
    Refused(io::Error),
}

/// Asks for the calling thread, the worker, and for the process's memory.
pub(crate) fn ask() -> Granted {
    Granted { priority: fifo(0, WORKER), memory: lock_memory() }
}

impl fmt::Display for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.priority {
            Ok(()) => write!(f, "audio runs with real-time priority {WORKER}")?,
            Err(error) => {
                write!(f, "audio runs without real-time priority ({error}; LimitRTPRIO= gives it)")?
            }
        }
        match &self.memory {
            Memory::Locked => write!(f, ", its memory stays in RAM"),
            Memory::Limited(bytes) => {
                write!(
                    f,
                    ", its memory may be swapped out (limit {bytes} bytes; LimitMEMLOCK=infinity locks it)"
                )
            }
            Memory::Refused(error) => write!(f, ", its memory may be swapped out ({error})"),
        }
    }
}

/// Gives every thread of the sound library its priority. Reads `/proc`: for the thread that opened the device.
pub(crate) fn raise_callbacks() {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return;
    };
    for task in tasks.flatten() {
        let is_callback = std::fs::read_to_string(task.path().join("comm"))
            .is_ok_and(|name| name.starts_with(CALLBACK_THREADS));
        let thread = task.file_name().to_str().and_then(|id| id.parse().ok());
        if let (true, Some(thread)) = (is_callback, thread) {
            match fifo(thread, CALLBACKS) {
                Ok(()) => {
                    tracing::debug!(thread, "a sound callback runs with real-time priority {CALLBACKS}")
                }
                Err(error) => {
                    tracing::debug!(thread, %error, "a sound callback runs without real-time priority")
                }
            }
        }
    }
}

/// First in, first out, above every ordinary thread. What the thread starts is ordinary again.
fn fifo(thread: libc::pid_t, priority: libc::c_int) -> io::Result<()> {
    #[cfg(target_env = "musl")]
    let parameters = libc::sched_param {
        sched_priority: priority,
        sched_ss_low_priority: 0,
        sched_ss_repl_period: libc::timespec { tv_sec: 0, tv_nsec: 0 },
        sched_ss_init_budget: libc::timespec { tv_sec: 0, tv_nsec: 0 },
        sched_ss_max_repl: 0,
    };
    #[cfg(not(target_env = "musl"))]
    let parameters = libc::sched_param { sched_priority: priority };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: `parameters` is a whole structure that outlives the call, which reads it and keeps nothing. A thread id that
    // has come to mean another thread of this process costs that one an ordinary priority, and no memory is touched.
    #[expect(unsafe_code, reason = "the kernel's call has no safe wrapper in what this workspace uses")]
    let result = unsafe { libc::sched_setscheduler(thread, policy, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Locks what is there and what will come, each page once it is touched: nothing becomes resident that would not be.
fn lock_memory() -> Memory {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a whole structure that outlives the call, which writes it and keeps nothing.
    #[expect(unsafe_code, reason = "the kernel's call has no safe wrapper in what this workspace uses")]
    let result = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    if result != 0 {
        return Memory::Refused(io::Error::last_os_error());
    }
    if limit.rlim_cur != libc::RLIM_INFINITY {
        #[allow(clippy::useless_conversion, reason = "32 bits on some targets")]
        return Memory::Limited(limit.rlim_cur.into());
    }
    // SAFETY: takes flags only; where it fails, memory is as before.
    #[expect(unsafe_code, reason = "the kernel's call has no safe wrapper in what this workspace uses")]
    let result = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | MCL_ONFAULT) };
    if result == 0 { Memory::Locked } else { Memory::Refused(io::Error::last_os_error()) }
}

/// From the kernel's `mman.h`, the same on every architecture that this is built for; Linux 4.4.
const MCL_ONFAULT: libc::c_int = 4;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

    use super::*;

    /// The policy of the calling thread, without the flag that children lose it.
    fn policy() -> String {
        // The 41st figure of a thread's status, after its name: its policy.
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        stat.rsplit(')').next().unwrap().split_whitespace().nth(38).unwrap().to_owned()
    }

    #[test]
    fn what_is_said_is_what_was_given_and_a_child_is_ordinary() {
        std::thread::spawn(|| {
            let said = Granted { priority: fifo(0, WORKER), memory: Memory::Limited(65_536) }.to_string();
            let is_fifo = policy() == libc::SCHED_FIFO.to_string();
            assert_eq!(is_fifo, said.starts_with("audio runs with real-time priority"), "{said}");
            assert!(said.contains("limit 65536 bytes"), "{said}");
            let child = std::thread::spawn(policy).join().unwrap();
            assert_eq!(child, libc::SCHED_OTHER.to_string());
        })
        .join()
        .unwrap();
    }
}
