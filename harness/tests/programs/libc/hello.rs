// SPDX-License-Identifier: BSD-2-Clause
// What Rust's runtime asks of a kernel, and a panic that is caught.

fn main() {
    let words: Vec<String> = std::env::args().collect();

    println!("hello {}", words.len());
    std::process::exit(match std::panic::catch_unwind(|| words[7].len()) {
        Ok(_) => 0,
        Err(_) => 4,
    });
}
