// SPDX-License-Identifier: MIT OR Apache-2.0

//! A recording for diagnosis: what the microphone gave, what was made of it, and what was played, as WAV files.
//!
//! The worker puts hops into a ring and never waits; a thread of its own writes them. What the disk cannot take in time is
//! dropped and counted. A recording is a row of takes, each of three files and of bounded length; the oldest are removed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use hound::{SampleFormat, WavSpec, WavWriter};
use rtrb::{Consumer, Producer, RingBuffer};
use tracing::{info, warn};
use units::Hz;

use crate::config::Recording;
use crate::dsp::{HOP_16K, HOP_24K};
use crate::rt::Sample as _;

/// Hops that wait for the disk: 2 s of three tracks.
const RING_HOPS: usize = 600;

/// How often the thread looks at the ring, a fortieth of what it holds.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Bytes of WAV that are lost at most if the process ends without closing: a second of a track.
const FLUSH_EVERY: u64 = 100;

/// What is recorded. The files of a take are named after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Track {
    /// The microphone, 16 kHz mono, after its channels were joined. Zeros while it is off.
    Raw,
    /// The same after the echo policy: what is listened to and sent.
    Cleaned,
    /// What goes to the loudspeaker, 24 kHz mono.
    FarEnd,
}

const TRACKS: [Track; 3] = [Track::Raw, Track::Cleaned, Track::FarEnd];

impl Track {
    const fn name(self) -> &'static str {
        match self {
            Self::Raw => "mic-raw",
            Self::Cleaned => "mic-cleaned",
            Self::FarEnd => "far-end",
        }
    }

    const fn rate(self) -> Hz {
        match self {
            Self::Raw | Self::Cleaned => Hz::K16,
            Self::FarEnd => Hz::K24,
        }
    }

    const fn frames(self) -> usize {
        match self {
            Self::Raw | Self::Cleaned => HOP_16K,
            Self::FarEnd => HOP_24K,
        }
    }
}

#[derive(Clone, Copy)]
struct Hop {
    track: Track,
    samples: [f32; HOP_24K],
}

/// The worker's end.
pub(crate) struct Tape {
    ring: Producer<Hop>,
    done: Receiver<()>,
    dropped: u64,
}

impl Tape {
    /// Starts the thread. `None`, with a word in the log, if there is none to be had.
    pub(crate) fn start(settings: Recording) -> Option<Self> {
        let (ring, hops) = RingBuffer::new(RING_HOPS);
        let (ended, done) = channel();
        let started = thread::Builder::new().name("recorder".into()).spawn(move || {
            if let Err(cause) = write(&settings, hops) {
                warn!("the recording in {} has ended: {cause}", settings.folder.display());
            }
            // Nobody may be waiting: that is fine.
            let _ = ended.send(());
        });
        match started {
            Ok(_) => Some(Self { ring, done, dropped: 0 }),
            Err(cause) => {
                warn!("nothing is recorded: there is no thread for it: {cause}");
                None
            }
        }
    }

    /// Puts down one hop of `track`. Real-time: never waits. What does not fit is dropped.
    pub(crate) fn put(&mut self, track: Track, samples: &[f32]) {
        let mut hop = Hop { track, samples: [0.0; HOP_24K] };
        hop.samples.iter_mut().zip(samples).for_each(|(to, from)| *to = *from);
        self.dropped += u64::from(self.ring.push(hop).is_err());
    }

    /// Whether nobody writes any more.
    pub(crate) fn is_over(&self) -> bool {
        self.ring.is_abandoned()
    }

    /// Hops dropped since the start.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Has the files closed, by `deadline` if the disk lets them be.
    pub(crate) fn close(self, deadline: Instant) {
        let Self { ring, done, .. } = self;
        drop(ring);
        // A disk that hangs is left behind: the files can be read all the same.
        let _ = done.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

fn write(settings: &Recording, mut hops: Consumer<Hop>) -> Result<(), hound::Error> {
    DirBuilder::new().recursive(true).mode(0o700).create(&settings.folder)?;
    let hops_max = u64::try_from(settings.take_max.as_millis() / 10).unwrap_or(u64::MAX).max(1);
    let mut take: Option<Take> = None;
    loop {
        let is_last = hops.is_abandoned();
        while let Ok(hop) = hops.pop() {
            if take.as_ref().is_some_and(|take| take.is_full(hop.track, hops_max)) {
                take.take().map_or(Ok(()), Take::finish)?;
            }
            let open = match take.take() {
                Some(open) => open,
                None => Take::create(settings)?,
            };
            take.insert(open).put(&hop)?;
        }
        if is_last {
            return take.map_or(Ok(()), Take::finish);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Three files that belong together.
struct Take {
    files: [(Track, WavWriter<BufWriter<File>>, u64); 3],
}

impl Take {
    /// The next one of the folder; those that are too many are removed first.
    fn create(settings: &Recording) -> Result<Self, hound::Error> {
        let numbers = takes(&settings.folder)?;
        let keep = usize::try_from(settings.takes_max.max(1) - 1).unwrap_or(usize::MAX);
        for number in numbers.iter().take(numbers.len().saturating_sub(keep)) {
            for track in TRACKS {
                match fs::remove_file(file(&settings.folder, *number, track)) {
                    Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause.into()),
                    Ok(()) | Err(_) => {}
                }
            }
        }
        let number = numbers.last().map_or(1, |last| last.saturating_add(1));
        let open = |track: Track| -> Result<_, hound::Error> {
            let path = file(&settings.folder, number, track);
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            let (sample_rate, sample_format) = (track.rate().get(), SampleFormat::Int);
            let spec = WavSpec { channels: 1, sample_rate, bits_per_sample: 16, sample_format };
            Ok((track, WavWriter::new(BufWriter::new(file), spec)?, 0))
        };
        let files = [open(Track::Raw)?, open(Track::Cleaned)?, open(Track::FarEnd)?];
        info!("recording take {number} in {}", settings.folder.display());
        Ok(Self { files })
    }

    fn is_full(&self, track: Track, hops_max: u64) -> bool {
        self.files.iter().any(|(own, _, hops)| *own == track && *hops >= hops_max)
    }

    fn put(&mut self, hop: &Hop) -> Result<(), hound::Error> {
        for (track, file, hops) in &mut self.files {
            if *track == hop.track {
                for sample in hop.samples.iter().take(track.frames()) {
                    file.write_sample(i16::from_f32(*sample))?;
                }
                *hops += 1;
                if *hops % FLUSH_EVERY == 0 {
                    file.flush()?;
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<(), hound::Error> {
        for (_, file, _) in self.files {
            file.finalize()?;
        }
        Ok(())
    }
}

fn file(folder: &Path, number: u32, track: Track) -> PathBuf {
    folder.join(format!("take-{number:05}-{}.wav", track.name()))
}

/// Numbers of the takes in `folder`, the oldest first.
fn takes(folder: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number =
            name.to_str().and_then(|name| name.strip_prefix("take-")?.split('-').next()?.parse::<u32>().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("audio-record-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn what_the_disk_cannot_take_in_time_is_dropped_and_counted() {
        let (ring, hops) = RingBuffer::new(4);
        let mut tape = Tape { ring, done: channel().1, dropped: 0 };
        (0..7).for_each(|_| tape.put(Track::Raw, &[0.5; HOP_16K]));
        assert_eq!((tape.dropped(), hops.slots(), tape.is_over()), (3, 4, false));
        drop(hops);
        assert!(tape.is_over());
    }

    #[test]
    fn takes_are_bounded_in_length_and_number_and_nobody_else_reads_them() {
        let folder = folder("bounds");
        let take_max = Duration::from_millis(100);
        let settings = Recording { folder: folder.clone(), take_max, takes_max: 2 };
        let (mut ring, hops) = RingBuffer::new(RING_HOPS);
        for n in 0..45u8 {
            for track in TRACKS {
                let samples = [f32::from(n) / 100.0; HOP_24K];
                ring.push(Hop { track, samples }).unwrap_or_else(|_| panic!("it fits"));
            }
        }
        drop(ring);
        write(&settings, hops).unwrap();
        // 45 hops are five takes, of which the last two are left.
        assert_eq!(takes(&folder).unwrap(), [4, 5]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 6);
        for (number, track, hops) in [(4, Track::Raw, 10), (5, Track::Cleaned, 5), (4, Track::FarEnd, 10)] {
            let path = file(&folder, number, track);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            let mut wav = hound::WavReader::open(&path).unwrap();
            assert_eq!(wav.spec().sample_rate, track.rate().get());
            let samples: Vec<i16> = wav.samples().map(Result::unwrap).collect();
            assert_eq!(samples.len(), hops * track.frames());
            let first = f32::from(u8::try_from(number - 1).unwrap() * 10) / 100.0;
            assert_eq!(samples.first(), Some(&i16::from_f32(first)));
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_written_ends_the_recording_and_nothing_else() {
        let path = folder("file");
        fs::write(&path, "").unwrap();
        let settings = Recording { folder: path.clone(), take_max: LOOK_EVERY, takes_max: 1 };
        let (ring, hops) = RingBuffer::new(4);
        assert!(write(&settings, hops).is_err());
        assert!(ring.is_abandoned());
        fs::remove_file(&path).unwrap();
    }
}
