//! Scripts: lines `KEY = value`.

use std::collections::BTreeMap;

/// The settings from a script and the command line.
#[derive(Debug)]
pub struct Script {
    /// AD_TOP, in upper case.
    pub top: String,
    /// AD_PROG
    pub composition: String,
    /// AD_IVARS, in upper case.
    pub independents: Vec<String>,
    /// AD_DVARS or AD_OVARS, in upper case.
    pub dependents: Vec<String>,
    /// AD_PMAX
    pub most: u32,
    /// AD_PREFIX, in upper case.
    pub prefix: String,
    /// AD_OUTPUT_DIR
    pub directory: String,
    /// AD_SCALAR_GRADIENTS
    pub scalar: bool,
    /// AD_SUPPRESS_LDG
    pub no_leading: bool,
    /// AD_SUPPRESS_NUM_COLS
    pub no_count: bool,
}

const KEYS: &[&str] = &[
    "AD_DVARS",
    "AD_EXCEPTION_FLAVOR",
    "AD_IVARS",
    "AD_OUTPUT_DIR",
    "AD_OVARS",
    "AD_PMAX",
    "AD_PREFIX",
    "AD_PROG",
    "AD_SCALAR_GRADIENTS",
    "AD_SUPPRESS_LDG",
    "AD_SUPPRESS_NUM_COLS",
    "AD_TOP",
];

impl Script {
    /// Reads the arguments of the command: `AD_SCRIPT=file` and keys that override it.
    pub fn of(args: &[String]) -> Result<Script, String> {
        let mut keys: BTreeMap<String, String> = BTreeMap::new();
        let mut overriding = Vec::new();
        for a in args {
            let (key, value) = a
                .split_once('=')
                .ok_or_else(|| format!("unknown option {a}"))?;
            if key == "AD_SCRIPT" {
                for (n, line) in super::read(value)?.lines().enumerate() {
                    let line = line.trim();
                    if line.is_empty() {
                        continue;
                    }
                    let (key, value) = line
                        .split_once('=')
                        .ok_or_else(|| format!("{value}: line {}: no `=`", n + 1))?;
                    let key = key.trim().to_owned();
                    if keys.insert(key.clone(), value.trim().to_owned()).is_some() {
                        return Err(format!("{key} is given twice"));
                    }
                }
            } else {
                overriding.push((key.to_owned(), value.to_owned()));
            }
        }
        keys.extend(overriding);
        if let Some(k) = keys.keys().find(|k| !KEYS.contains(&k.as_str())) {
            return Err(format!("unknown key {k}"));
        }
        let get = |key: &str| keys.get(key).filter(|v| !v.is_empty());
        let need = |key: &str| {
            get(key)
                .cloned()
                .ok_or_else(|| format!("{key} is not given"))
        };
        let list = |text: String| -> Vec<String> {
            text.split(',')
                .map(|v| v.trim().to_ascii_uppercase())
                .collect()
        };
        let flag = |key: &str| match get(key).map(|v| v.to_ascii_lowercase()).as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(v) => Err(format!("{key} is neither true nor false: {v}")),
        };
        let most = need("AD_PMAX")?;
        let most: u32 = most
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .ok_or_else(|| format!("AD_PMAX is no number: {most}"))?;
        let scalar = flag("AD_SCALAR_GRADIENTS")?;
        if scalar && most != 1 {
            return Err("AD_SCALAR_GRADIENTS needs AD_PMAX = 1".to_owned());
        }
        if let Some(f) = get("AD_EXCEPTION_FLAVOR")
            && f != "performance"
        {
            return Err(format!("the stand-in has no exception flavor {f}"));
        }
        Ok(Script {
            top: need("AD_TOP")?.to_ascii_uppercase(),
            composition: need("AD_PROG")?,
            independents: list(need("AD_IVARS")?),
            dependents: list(need("AD_DVARS").or_else(|_| need("AD_OVARS"))?),
            most,
            prefix: get("AD_PREFIX").map_or("G".to_owned(), |p| p.to_ascii_uppercase()),
            directory: get("AD_OUTPUT_DIR")
                .cloned()
                .unwrap_or_else(|| ".".to_owned()),
            scalar,
            no_leading: flag("AD_SUPPRESS_LDG")?,
            no_count: flag("AD_SUPPRESS_NUM_COLS")?,
        })
    }
}
