//! The daemon as a whole: on virtual time against a scripted model, and as a process over a virtual sound card.

mod blocking;
mod demo;
mod faults;
mod gate;
mod log_reader;
mod manifests;
mod reload;
mod rig;
mod talk;
mod tool_faults;
