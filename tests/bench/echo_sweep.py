#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Echo cancellation through the daemon's own path, over synthetic rooms.

    cargo build --release -p audio --features sonora --example echo_path
    python3 -m venv target/venv && target/venv/bin/pip install numpy scipy pystoi
    target/venv/bin/python tests/bench/echo_sweep.py target/release/examples/echo_path

Speech is espeak-ng's. Each room is a decaying noise response; the far-end goes through it at the given delay and level,
the near-end talker is added dry, and both recordings go through `echo_path`, which is the worker on virtual time.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from pystoi import stoi
from scipy.io import wavfile
from scipy.signal import fftconvolve, resample_poly

RATE = 16_000
FAR_LINES = [
    "The temperature in the greenhouse is twenty four degrees, and the window on the left side is open.",
    "I can send a message to the front desk, but I need you to confirm it first.",
    "Your parcel is at the loading dock. Please bring the slip with the yellow stripe.",
    "Opening hours are from nine in the morning until half past seven in the evening.",
    "To find the second floor, walk past the lift and take the stairs behind the glass door.",
]
NEAR_LINES = ["Stop please, that is enough.", "Wait a moment, I have a question.", "No, I meant the other one.",
              "What time do you close today?", "Please send it to my brother."]

# name, delay ms, RT60 s, echo dB, noise dBFS, tanh, ppm
ROOMS = [
    ("20 ms, 0.2 s, -20 dB", 20, 0.2, -20, -70, False, 0),
    ("40 ms, 0.25 s, -10 dB", 40, 0.25, -10, -70, False, 0),
    ("40 ms, 0.25 s, 0 dB", 40, 0.25, 0, -70, False, 0),
    ("5 ms, 0.25 s, 0 dB", 5, 0.25, 0, -70, False, 0),
    ("120 ms, 0.4 s, 0 dB", 120, 0.4, 0, -70, False, 0),
    ("250 ms, 0.25 s, 0 dB", 250, 0.25, 0, -70, False, 0),
    ("40 ms, 0.6 s, 0 dB", 40, 0.6, 0, -70, False, 0),
    ("noise -50 dBFS", 40, 0.25, 0, -50, False, 0),
    ("loudspeaker tanh", 40, 0.25, 0, -70, True, 0),
]


def speak(text, voice, rate):
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        subprocess.run(["espeak-ng", "-v", voice, "-w", file.name, text], check=True)
        own, pcm = wavfile.read(file.name)
    pcm = resample_poly(pcm.astype(float) / 32768, rate, own)
    loud = np.flatnonzero(np.abs(pcm) > 0.02)
    return pcm[loud[0]:loud[-1]]


def level(x):
    """RMS where it is not silent, dB."""
    hops = x[:len(x) // 160 * 160].reshape(-1, 160)
    power = (hops ** 2).mean(1)
    loud = power[power > power.max() * 1e-4]
    return 10 * np.log10(loud.mean() + 1e-12)


def at_level(x, db):
    return x * 10 ** ((db - level(x)) / 20)


def row(lines, seconds, pause, rng, rate):
    out, n = [], 0
    while sum(map(len, out)) < seconds * rate:
        out += [lines[n % len(lines)], np.zeros(int(rate * pause * (0.5 + rng.random())))]
        n += 1
    return np.concatenate(out)[:int(seconds * rate)]


def response(rt60, rng):
    n = int(RATE * rt60)
    h = rng.standard_normal(n) * 10 ** (-3 * np.arange(n) / n)
    h[0] = np.sqrt((h ** 2).sum())
    return h / np.sqrt((h ** 2).sum())


def echo_of(far16, room, rng):
    _, delay, rt60, db, noise, tanh, _ = room
    played = np.tanh(4 * far16) / 4 if tanh else far16
    heard = np.concatenate([np.zeros(delay * RATE // 1000), fftconvolve(played, response(rt60, rng))])[:len(far16)]
    echo = at_level(heard, level(far16) + db)
    return echo, 10 ** (noise / 20) * rng.standard_normal(len(echo))


def run(binary, far24, mic, engine, scratch, mode="auto"):
    for name, rate, pcm in (("far", 24_000, far24), ("mic", RATE, mic)):
        wavfile.write(scratch / f"{name}.wav", rate, np.int16(np.clip(pcm, -1, 1) * 32767))
    done = subprocess.run([binary, scratch / "far.wav", scratch / "mic.wav", scratch / "out.wav", mode, engine],
                          check=True, capture_output=True, text=True)
    events = [line.split(" ", 2) for line in done.stdout.splitlines()]
    return wavfile.read(scratch / "out.wav")[1] / 32768, events


def starts(events):
    return np.array([(int(at) - int(rest)) / 1000 for at, what, rest in events if what == "started"]), \
        np.array([int(at) / 1000 for at, what, _ in events if what == "started"])


def aligned(out, ref):
    """`out` moved to where it matches `ref` best, within 80 ms."""
    lags = range(0, 1280, 16)
    best = max(lags, key=lambda lag: abs(np.dot(out[lag:lag + len(ref) - 1280], ref[:len(ref) - 1280])))
    return np.concatenate([out[best:], np.zeros(best)])[:len(ref)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--engines", default="long,stock")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--quick", action="store_true", help="three rooms")
    args = parser.parse_args()
    rng = np.random.default_rng(5)
    far_lines = [at_level(speak(text, "en-us", 24_000), -20) for text in FAR_LINES]
    near_lines = [at_level(speak(text, "en-gb+f3", RATE), -20) for text in NEAR_LINES]
    rooms = ROOMS[2:3] + ROOMS[6:7] + ROOMS[8:] if args.quick else ROOMS
    print("| room | canceller | ERLE dB, 10 s on | converged, s | ESTOI in double-talk (mic) | false starts in 30 s |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        far24 = row(far_lines, 30, 0.3, rng, 24_000)
        far16 = resample_poly(far24, 2, 3)
        far_talk24 = row(far_lines, 60, 0.05, rng, 24_000)
        far_talk16 = resample_poly(far_talk24, 2, 3)
        near = np.zeros(len(far_talk16))
        places = [int(RATE * (12 + 5 * n)) for n in range(9)]
        for n, place in enumerate(places):
            line = near_lines[n % len(near_lines)]
            near[place:place + len(line)] += line
        for room in rooms:
            echo, noise = echo_of(far16, room, np.random.default_rng(7))
            talk_echo, talk_noise = echo_of(far_talk16, room, np.random.default_rng(7))
            for engine in args.engines.split(","):
                out, events = run(args.binary, far24, echo + noise, engine, scratch, "software")
                tail = slice(10 * RATE, 29 * RATE)
                erle = 10 * np.log10((echo[tail] ** 2).mean() / max((out[tail] ** 2).mean(), 1e-9))
                told = [int(at) / 1000 for at, what, _ in events if what == "echo"]
                false = len(starts(events)[0])
                out, _ = run(args.binary, far_talk24, talk_echo + talk_noise + near, engine, scratch, "software")
                out = aligned(out, near)
                mic = talk_echo + talk_noise + near
                spans = [slice(p, p + len(near_lines[n % len(near_lines)])) for n, p in enumerate(places)]
                clean, cleaned, raw = (np.concatenate([x[s] for s in spans]) for x in (near, out, mic))
                estoi = [stoi(clean, x, RATE, extended=True) for x in (cleaned, raw)]
                print(f"| {room[0]} | {engine} | {erle:.0f} | {told[0] if told else float('nan'):.1f} "
                      f"| {estoi[0]:.2f} ({estoi[1]:.2f}) | {false} |", flush=True)
        # Self-interruptions, and real ones at the level of the echo.
        room = ROOMS[2]
        seconds = int(args.minutes * 60)
        far24 = row(far_lines, seconds, 0.3, rng, 24_000)
        echo, noise = echo_of(resample_poly(far24, 2, 3), room, np.random.default_rng(7))
        spacing, trials = 4.0, args.trials
        long24 = row(far_lines, 10 + spacing * trials + 4, 0.1, rng, 24_000)
        long_echo, long_noise = echo_of(resample_poly(long24, 2, 3), room, np.random.default_rng(7))
        near, begun = np.zeros(len(long_echo)), []
        for n in range(trials):
            at, line = 10 + spacing * n + rng.random(), near_lines[n % len(near_lines)]
            place = int(at * RATE)
            near[place:place + len(line)] += at_level(line, level(long_echo))[:len(near) - place]
            begun.append(at)
        print("\n| canceller | self-interruptions in "
              f"{args.minutes:g} min at 0 dB | heard within 300 ms, of {trials} | median ms | us per hop, all of the path |")
        print("|---|---|---|---|---|")
        for engine in args.engines.split(","):
            _, events = run(args.binary, far24, echo + noise, engine, scratch)
            false = len(starts(events)[0])
            cost = next(rest for _, what, rest in events if what == "cost")
            _, events = run(args.binary, long24, long_echo + long_noise + near, engine, scratch)
            reported = starts(events)[1]
            times = [min((t - at for t in reported if -0.05 <= t - at <= 1.5), default=9) for at in begun]
            within = sum(t <= 0.3 for t in times)
            print(f"| {engine} | {false} | {within} ({100 * within / trials:.0f} %) | {1000 * np.median(times):.0f} "
                  f"| {cost} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
