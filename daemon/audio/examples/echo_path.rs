// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs a far-end and a microphone recording through the daemon's own path, on virtual time, and tells what came out.
//!
//! `echo_path FAR.wav MIC.wav CLEANED.wav auto|software|off long|stock`, 16-bit mono, FAR at 24 kHz and MIC at 16 kHz.
//! The recordings begin at the same moment: what FAR has at second *t* leaves the loudspeaker at that second of MIC. Each
//! event is a line on standard output: its time on that clock in ms, what it is, and its text. Last comes what a hop cost.

#![allow(clippy::print_stdout, reason = "what came out is printed")]

use std::error::Error;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use audio::{Canceller, Cleaning, Command, Config, Echo, Engine, Event, Priority, Sink, Source, sim};
use units::{Hz, Pcm, UtteranceId};

/// How long a frame takes to leave the simulated loudspeaker: 20 ms in the ring, 5 ms in the resampler.
const LEAD: Duration = Duration::from_millis(25);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let [far, mic, cleaned, echo, canceller] = arguments.as_slice() else {
        return Err("usage: echo_path FAR.wav MIC.wav CLEANED.wav auto|software|off long|stock".into());
    };
    let echo = match echo.as_str() {
        "auto" => Echo::Auto { tail: Duration::from_millis(300) },
        "software" => Echo::Software,
        "off" => Echo::Off,
        other => return Err(format!("`{other}`: auto, software or off").into()),
    };
    let canceller = match canceller.as_str() {
        "long" => Canceller::LongRoom,
        #[cfg(feature = "sonora")]
        "stock" => Canceller::Stock,
        other => return Err(format!("`{other}`: long, or stock with the feature `sonora`").into()),
    };
    let (far, mic) = (read(far)?, read(mic)?);
    let length = Duration::from_secs_f64(mic.samples().len() as f64 / 16_000.0);
    let microphone = sim::Microphone::new(Hz::K48, 1);
    let config = Config {
        echo,
        cleaning: Cleaning { canceller, ..Cleaning::default() },
        ..Config::new(Source::Sim(microphone.clone()), Sink::Sim(sim::Speaker::new(Hz::K48)))
    };
    let (events, seen) = mpsc::channel();
    let (mut stepper, handle) = Engine::stepped(config, move |event: Event| events.send(event).is_ok())?;
    handle.command(Command::UplinkOpen { preroll: Duration::ZERO }).map_err(|_| "no room for a command")?;
    microphone.pause(LEAD);
    microphone.say(&mic);
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: 16_000,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut out = hound::WavWriter::create(cleaned, spec)?;
    // An utterance holds 180 s at most, so each of them is 60 s.
    for (utterance, piece) in (1..).map(UtteranceId).zip(far.samples().chunks(24_000 * 60)) {
        let pcm = Pcm::new(Hz::K24, piece);
        handle
            .command(Command::Append { utterance, priority: Priority::Reply, pcm })
            .map_err(|_| "no room")?;
        handle.command(Command::Finish { utterance }).map_err(|_| "no room")?;
    }
    let (begun, mut hops) = (Instant::now(), 0);
    while stepper.now() < length + LEAD {
        stepper.hop();
        hops += 1;
        let at = stepper.now().saturating_sub(LEAD).as_millis();
        for event in seen.try_iter() {
            match event {
                Event::Mic(chunk) => {
                    for sample in chunk {
                        out.write_sample(sample)?;
                    }
                }
                Event::SpeechStarted { onset_ago } => println!("{at} started {}", onset_ago.as_millis()),
                Event::SpeechEnded { voiced } => println!("{at} ended {}", voiced.as_millis()),
                Event::Echo { text } => println!("{at} echo {text}"),
                Event::Started { .. }
                | Event::Finished { .. }
                | Event::Levels { .. }
                | Event::Rate(_)
                | Event::Muted(_)
                | Event::MuteAsked(_)
                | Event::Recording(_)
                | Event::DeviceUp { .. }
                | Event::DeviceDown { .. }
                | Event::DeviceFault { .. }
                | Event::DeviceWell { .. } => {}
            }
        }
    }
    out.finalize()?;
    println!("0 cost {:.1}", begun.elapsed().as_secs_f64() * 1e6 / f64::from(hops));
    println!("0 state {:?} {:?}", handle.echo(), handle.counters());
    Ok(())
}

fn read(path: &str) -> Result<Pcm, Box<dyn Error>> {
    let mut reader = hound::WavReader::open(path)?;
    let rate = Hz::new(reader.spec().sample_rate).ok_or("a rate of 0")?;
    let samples = reader.samples::<i16>().collect::<Result<Vec<i16>, _>>()?;
    Ok(Pcm::new(rate, samples))
}
