fn main() {
    farfel_build::compile();
}
