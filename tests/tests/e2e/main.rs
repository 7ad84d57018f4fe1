// SPDX-License-Identifier: MIT OR Apache-2.0

//! The daemon as a whole: on virtual time against a scripted model, and as a process over a virtual sound card.

mod approvals;
mod blocking;
mod clips;
mod crash;
mod cues;
mod demo;
mod faults;
mod gate;
mod gate_room;
mod kits;
mod log_reader;
mod manifests;
mod records;
mod reload;
mod rig;
mod sound_checks;
mod switch;
mod talk;
mod tool_faults;
mod unplug;
