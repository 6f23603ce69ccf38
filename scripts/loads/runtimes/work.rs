// SPDX-License-Identifier: GPL-2.0
// work MILLISECONDS: threads that are busy at the bottom of a recursion
use std::collections::HashMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

#[inline(never)]
fn walk(n: u32, seed: u32) -> u32 {
    if n == 0 {
        return work(seed);
    }
    (0..1).map(|_| walk(n - 1, seed).wrapping_add(1)).sum()
}

#[inline(never)]
fn work(mut seed: u32) -> u32 {
    let mut numbers: Vec<u32> = Vec::new();
    for _ in 0..300 {
        seed = seed.wrapping_mul(1103515245).wrapping_add(12345);
        numbers.push(seed);
    }
    numbers.sort_by(|a, b| (a % 1000).cmp(&(b % 1000)));
    let mut text = String::new();
    for n in &numbers {
        write!(text, "{:.3},", *n as f64 / 7.0).unwrap();
    }
    let map: HashMap<&str, usize> = text.split(',').zip(0..).collect();
    map.len() as u32 + numbers[0]
}

fn main() {
    let span: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let stop = Instant::now() + Duration::from_millis(span);
    let threads: Vec<_> = (1..3)
        .map(|mut seed| {
            std::thread::spawn(move || {
                while Instant::now() < stop {
                    seed = walk(10, seed);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}
