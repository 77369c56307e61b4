#![no_main]

#[path = "../../farfel-lang/tests/common/any_text.rs"]
mod any_text;

libfuzzer_sys::fuzz_target!(|data: &[u8]| any_text::lines(&any_text::text(data)));
