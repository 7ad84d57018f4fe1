// SPDX-License-Identifier: MIT OR Apache-2.0

//! Many channels to one.

use crate::config::Channels;

/// Appends one sample to `mono` for each whole frame of `interleaved`. `channels` is at least 1; a channel that does
/// not exist is silent.
pub(crate) fn mix(interleaved: &[f32], channels: u16, map: Channels, mono: &mut Vec<f32>) {
    let frames = interleaved.chunks_exact(usize::from(channels.max(1)));
    match map {
        Channels::Average => {
            let scale = 1.0 / f32::from(channels.max(1));
            mono.extend(frames.map(|frame| frame.iter().sum::<f32>() * scale));
        }
        Channels::Only(channel) => {
            mono.extend(frames.map(|frame| frame.get(usize::from(channel)).copied().unwrap_or(0.0)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(interleaved: &[f32], channels: u16, map: Channels) -> Vec<f32> {
        let mut mono = Vec::new();
        mix(interleaved, channels, map, &mut mono);
        mono
    }

    #[test]
    fn channels_are_averaged_or_one_is_taken() {
        let frames = [0.2, 0.4, -0.5, 0.5, 0.9];
        assert_eq!(mixed(&frames, 1, Channels::Average), frames);
        let mean = mixed(&frames, 2, Channels::Average);
        assert!((mean[0] - 0.3).abs() < 1e-6 && mean[1].abs() < 1e-6, "{mean:?}");
        assert_eq!(mean.len(), 2, "half a frame is none");
        assert_eq!(mixed(&frames, 2, Channels::Only(1)), [0.4, 0.5]);
        assert_eq!(mixed(&frames, 2, Channels::Only(2)), [0.0, 0.0]);
    }
}
