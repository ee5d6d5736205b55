//! The words of tc-red(8) without a key of the same name here: `avpkt`, `burst` and `bandwidth`
//! determine the weight of the mean and the packet time by which it decays while the queue is
//! empty.
//!
//! As in `tc_red_eval_ewma` of iproute2: with qmin = min, the weight is the largest W = 2^-n, n
//! from 1 to 31, for which burst + 1 - qmin/avpkt <= (1 - (1 - W)^burst) / W. The packet time is
//! that of `avpkt` octets at `bandwidth`. The defaults are those of iproute2: max = 3 min or
//! limit/4, min = max/3, burst = (2 min + max)/(3 avpkt), bandwidth = 10 Mbit/s; and avpkt = 1000,
//! which tc requires. Linux's RED has no gentle region, and with `ecn` but without `harddrop` it
//! also marks above `max`.

use super::link_units::{bits_per_second, octets};
use weir_proto::settings::{Raw, Table};

/// Words of RED with their values.
#[derive(Default)]
pub(super) struct RedWords {
    words: Vec<(String, String)>,
}

impl RedWords {
    /// Takes a word if it has no key here. `value` returns its value.
    ///
    /// # Errors
    /// If the word has no meaning here, or is repeated.
    pub(super) fn takes(
        &mut self,
        word: &str,
        value: impl FnOnce() -> Result<String, String>,
    ) -> Result<bool, String> {
        match word {
            "avpkt" | "burst" | "bandwidth" => {}
            "adaptive" => {
                let message = "red has no \"adaptive\" here: the probability stays as it is \
                               written; write probability, or pie, which adapts its own";
                return Err(message.to_owned());
            }
            "nodrop" => {
                let message = "red has no \"nodrop\" here: what is not capable of ECN is dropped \
                               where others are marked (RFC 3168 §7)";
                return Err(message.to_owned());
            }
            _ => return Ok(false),
        }
        if self.get(word).is_some() {
            return Err(format!("\"{word}\" is there twice, expected it once"));
        }
        self.words.push((word.to_owned(), value()?));
        Ok(true)
    }

    fn get(&self, word: &str) -> Option<&str> {
        let found = self.words.iter().find(|(name, _)| name == word);
        found.map(|(_, value)| value.as_str())
    }

    /// Adds to the keys of a RED queue the values that tc derives from these words and its
    /// defaults.
    ///
    /// # Errors
    /// The invalid word, and the advice.
    pub(super) fn complete(&self, keys: &mut Table) -> Result<(), String> {
        for key in ["gentle", "harddrop"] {
            if keys.get(key).is_none() {
                keys.put(key, Raw::Boolean(false));
            }
        }
        let size = |key: &str| octets(keys.get(key)?.value.raw.as_text()?);
        let Some(limit) = size("limit") else {
            return Ok(()); // The reader of the scenario asks for it.
        };
        let (min, max) = (size("min"), size("max"));
        let has = |key: &str| keys.get(key).is_some();
        // The scenario's reader rejects text that is not a value.
        if (has("min") && min.is_none()) || (has("max") && max.is_none()) {
            return Ok(());
        }
        let most = max.or(min.map(|min| 3.0 * min));
        let most = most.unwrap_or_else(|| libm::floor(limit / 4.0));
        let least = min.unwrap_or_else(|| libm::floor(most / 3.0));
        let is_weighted = has("weight") || has("packet_time");
        for (key, known, value) in [("min", min, least), ("max", max, most)] {
            if known.is_none() {
                keys.put(key, Raw::Text(format!("{value}b")));
            }
        }
        if self.words.is_empty() {
            return Ok(());
        }
        if is_weighted {
            let message = "avpkt, burst and bandwidth are tc's words for weight and packet_time, \
                           expected one or the other";
            return Err(message.to_owned());
        }
        let packet = self.packet()?;
        let weight = weight(self.burst([least, most], packet)?, least, packet)?;
        let nanos = libm::round(packet * 8e9 / self.bandwidth()?);
        keys.put("weight", Raw::Float(weight));
        keys.put("packet_time", Raw::Text(format!("{nanos}ns")));
        Ok(())
    }

    fn packet(&self) -> Result<f64, String> {
        let Some(word) = self.get("avpkt") else {
            return Ok(1000.0);
        };
        let packet = octets(word).filter(|&packet| packet >= 1.0);
        packet.ok_or_else(|| format!("avpkt: expected octets such as 1000, found \"{word}\""))
    }

    fn burst(&self, [min, max]: [f64; 2], packet: f64) -> Result<f64, String> {
        let Some(word) = self.get("burst") else {
            return Ok(libm::floor((2.0 * min + max) / (3.0 * packet)));
        };
        let burst = word.parse::<u32>().map(f64::from);
        burst.map_err(|_| format!("burst: expected packets such as 55, found \"{word}\""))
    }

    fn bandwidth(&self) -> Result<f64, String> {
        let Some(word) = self.get("bandwidth") else {
            return Ok(10e6);
        };
        let rate = bits_per_second(word)?.filter(|&rate| rate >= 1.0);
        rate.ok_or_else(|| format!("bandwidth: expected a rate such as 10mbit, found \"{word}\""))
    }
}

/// W for bursts of this many packets above a threshold in octets.
fn weight(burst: f64, min: f64, packet: f64) -> Result<f64, String> {
    let needed = burst + 1.0 - min / packet;
    if needed < 1.0 {
        let enough = libm::floor(min / packet) + 1.0;
        return Err(format!(
            "burst: {burst} packets are fewer than min holds, expected at least {enough}"
        ));
    }
    let weights = (1..32).map(|log| libm::ldexp(1.0, -log));
    let mut fitting = weights.filter(|w| needed <= (1.0 - libm::pow(1.0 - w, burst)) / w);
    let none = || format!("burst: no weight of the mean lets {burst} packets pass");
    fitting.next().ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_is_that_of_tc() {
        // The example of tc-red(8): min 30000, avpkt 1000, burst 55. a = 55 + 1 - 30 = 26. With
        // W = 1/32: (1 - (31/32)^55) * 32 = (1 - 0.1744) * 32 = 26.4; with 1/16: 15.5.
        assert_eq!(weight(55.0, 30_000.0, 1000.0), Ok(1.0 / 32.0));
        // a = 1: at most one packet above min, which is true for any weight.
        assert_eq!(weight(30.0, 30_000.0, 1000.0), Ok(0.5));
        let few = weight(29.0, 30_000.0, 1000.0).unwrap_err();
        assert!(few.contains("expected at least 31"), "{few}");
    }
}
