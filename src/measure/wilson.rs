//! The Wilson score interval of a proportion. It knows two counts and a level.

use super::error::MeasureError;
use super::resample::Interval;

/// A proportion with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proportion {
    /// The share observed.
    pub share: f64,
    /// Its Wilson score interval.
    pub interval: Interval,
}

/// The proportion `n_hits` of `n` and its interval, without continuity correction; None for `n` = 0.
///
/// # Errors
/// More hits than trials, or a level outside (0, 1).
///
/// # Source
/// Wilson 1927, doi:10.1080/01621459.1927.10502953; gavel.txt, matcher audit, and uid.txt use it at level 0.95.
pub fn wilson(n_hits: u64, n: u64, level: f64) -> Result<Option<Proportion>, MeasureError> {
    if !(level > 0.0 && level < 1.0) {
        return Err(MeasureError::NumberOutOfRange { what: "a confidence level", expected: "between 0 and 1", got: level });
    }
    if n_hits > n {
        return Err(MeasureError::NumberOutOfRange {
            what: "the number of hits",
            expected: "no more than the number of trials",
            got: n_hits as f64,
        });
    }
    if n == 0 {
        return Ok(None);
    }
    let (trials, share) = (n as f64, n_hits as f64 / n as f64);
    let z = -normal_quantile((1.0 - level) / 2.0);
    let z2 = z * z;
    let centre = (share + z2 / (2.0 * trials)) / (1.0 + z2 / trials);
    let half = z / (1.0 + z2 / trials) * (share * (1.0 - share) / trials + z2 / (4.0 * trials * trials)).sqrt();
    // Without hits the lower end is zero, with nothing but hits the upper one is one; only rounding says otherwise.
    let lo = if n_hits == 0 { 0.0 } else { centre - half };
    let hi = if n_hits == n { 1.0 } else { centre + half };
    let interval = Interval { lo, hi };
    Ok(Some(Proportion { share, interval }))
}

/// The number below which a standard normal variable lies with probability `p`, for `p` in (0, 1).
///
/// # Numerics
/// Relative error about 1e-16.
///
/// # Source
/// Wichura 1988, algorithm AS 241 (PPND16), doi:10.2307/2347330.
#[expect(clippy::excessive_precision, reason = "the coefficients as published")]
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        let above = polynomial(
            r,
            [
                2.509_080_928_730_122_672_7e3,
                3.343_057_558_358_812_810_5e4,
                6.726_577_092_700_870_085_3e4,
                4.592_195_393_154_987_145_7e4,
                1.373_169_376_550_946_112_5e4,
                1.971_590_950_306_551_442_7e3,
                1.331_416_678_917_843_774_5e2,
                3.387_132_872_796_366_608,
            ],
        );
        let below = polynomial(
            r,
            [
                5.226_495_278_852_854_561e3,
                2.872_908_573_572_194_267_4e4,
                3.930_789_580_009_271_061e4,
                2.121_379_430_158_659_586_7e4,
                5.394_196_021_424_751_107_7e3,
                6.871_870_074_920_579_083e2,
                4.231_333_070_160_091_125_2e1,
                1.0,
            ],
        );
        return q * above / below;
    }
    let r = (-p.min(1.0 - p).ln()).sqrt();
    let size = if r <= 5.0 {
        let above = [
            7.745_450_142_783_414_076_4e-4,
            2.272_384_498_926_918_458_33e-2,
            2.417_807_251_774_506_117_7e-1,
            1.270_458_252_452_368_382_58,
            3.647_848_324_763_204_605_04,
            5.769_497_221_460_691_405_5,
            4.630_337_846_156_545_295_9,
            1.423_437_110_749_683_577_34,
        ];
        let below = [
            1.050_750_071_644_416_843_24e-9,
            5.475_938_084_995_344_946e-4,
            1.519_866_656_361_645_719_66e-2,
            1.481_039_764_274_800_745_9e-1,
            6.897_673_349_851_000_045_5e-1,
            1.676_384_830_183_803_849_4,
            2.053_191_626_637_758_821_87,
            1.0,
        ];
        polynomial(r - 1.6, above) / polynomial(r - 1.6, below)
    } else {
        let above = [
            2.010_334_399_292_288_132_65e-7,
            2.711_555_568_743_487_578_15e-5,
            1.242_660_947_388_078_438_6e-3,
            2.653_218_952_657_612_309_3e-2,
            2.965_605_718_285_048_912_3e-1,
            1.784_826_539_917_291_335_8,
            5.463_784_911_164_114_369_9,
            6.657_904_643_501_103_777_2,
        ];
        let below = [
            2.044_263_103_389_939_785_64e-15,
            1.421_511_758_316_445_888_7e-7,
            1.846_318_317_510_054_681_8e-5,
            7.868_691_311_456_132_591e-4,
            1.487_536_129_085_061_485_25e-2,
            1.369_298_809_227_358_053_1e-1,
            5.998_322_065_558_879_376_9e-1,
            1.0,
        ];
        polynomial(r - 5.0, above) / polynomial(r - 5.0, below)
    };
    size.copysign(q)
}

/// Coefficients from the highest power down.
fn polynomial(x: f64, coefficients: [f64; 8]) -> f64 {
    coefficients.iter().fold(0.0, |sum, c| sum * x + c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, z) in [
            (0.5, 0.0),
            (0.025, -1.959963984540054),
            (0.975, 1.959963984540054),
            (0.95, 1.6448536269514722),
            (1e-9, -5.9978070150076865),
            (1e-12, -7.034483825301132),
            (1e-200, -30.205594179579634),
        ] {
            assert!((normal_quantile(p) - z).abs() < 3e-15 * z.abs().max(1.0), "{p}: {}", normal_quantile(p));
        }
    }

    #[test]
    fn ends_mirror_and_stay_within_bounds() {
        for n in 1..60 {
            for k in 0..=n {
                let here = wilson(k, n, 0.95).unwrap().unwrap();
                let there = wilson(n - k, n, 0.95).unwrap().unwrap();
                assert!((here.interval.lo - (1.0 - there.interval.hi)).abs() < 1e-14);
                assert!(0.0 <= here.interval.lo && here.interval.lo <= here.share);
                assert!(here.share <= here.interval.hi && here.interval.hi <= 1.0);
            }
        }
    }

    #[test]
    fn no_trials_is_undefined_and_bad_input_refused() {
        assert_eq!(wilson(0, 0, 0.95).unwrap(), None);
        assert!(wilson(2, 1, 0.95).is_err());
        for level in [0.0, 1.0, f64::NAN] {
            assert!(wilson(1, 2, level).is_err());
        }
    }
}
