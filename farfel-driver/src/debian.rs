//! The Debian packages of commonly used libraries.

/// Libraries and the Debian packages that contain them.
const PACKAGES: [(&str, &str); 35] = [
    ("arpack", "libarpack2-dev"),
    ("blas", "libblas-dev"),
    ("cblas", "libatlas-base-dev"),
    ("cfitsio", "libcfitsio-dev"),
    ("cholmod", "libsuitesparse-dev"),
    ("cpgplot", "giza-dev"),
    ("dmumps", "libmumps-seq-dev"),
    ("fftw3", "libfftw3-dev"),
    ("fftw3f", "libfftw3-dev"),
    ("fftw3_threads", "libfftw3-dev"),
    ("gsl", "libgsl-dev"),
    ("gslcblas", "libgsl-dev"),
    ("hdf5", "libhdf5-dev"),
    ("hdf5_fortran", "libhdf5-dev"),
    ("hdf5_hl", "libhdf5-dev"),
    ("klu", "libsuitesparse-dev"),
    ("lapack", "liblapack-dev"),
    ("lapacke", "liblapacke-dev"),
    ("metis", "libmetis-dev"),
    ("mpi", "libopenmpi-dev"),
    ("ncurses", "libncurses-dev"),
    ("netcdf", "libnetcdf-dev"),
    ("netcdff", "libnetcdff-dev"),
    ("nlopt", "libnlopt-dev"),
    ("openblas", "libopenblas-dev"),
    ("parpack", "libparpack2-dev"),
    ("pgplot", "giza-dev"),
    ("png", "libpng-dev"),
    ("readline", "libreadline-dev"),
    ("scalapack", "libscalapack-mpi-dev"),
    ("sqlite3", "libsqlite3-dev"),
    ("superlu", "libsuperlu-dev"),
    ("umfpack", "libsuitesparse-dev"),
    ("X11", "libx11-dev"),
    ("z", "zlib1g-dev"),
];

/// Returns the Debian package that contains a library, if it is known.
#[must_use]
pub fn package_of(library: &str) -> Option<&'static str> {
    let found = PACKAGES.iter().find(|(name, _)| *name == library);
    found.map(|(_, package)| *package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_in_order() {
        let names = PACKAGES.map(|(name, _)| name.to_ascii_lowercase());
        assert!(names.is_sorted_by_key(|n| n.replace('_', "")), "{names:?}");
    }
}
