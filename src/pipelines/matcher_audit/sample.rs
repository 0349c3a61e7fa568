//! Pooling matched pairs and drawing a sample from each band. It writes no sheet.

use super::bands;
use crate::measure::matcher_bands::pooled_pairs;
use crate::pipelines::draw::{Draw, draw_code};
use crate::pipelines::sheet::{Sheet, SheetFault};

/// Two events that a matcher aligned.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The case.
    pub case: String,
    /// Event of the reference timeline.
    pub reference: String,
    /// Event of the other timeline.
    pub prediction: String,
    /// Distance of the two; not finite when the matcher gave none.
    pub distance: f64,
    /// Who made the other timeline.
    pub source: String,
    /// Line of the file of pairs, counted from one.
    pub line: usize,
}

/// Reads a file of pairs: columns case, reference, prediction, distance, source, in any order; further ones are ignored.
///
/// # Errors
/// Every row whose distance is no number (an empty field is an undefined one) or whose case or event is empty.
pub fn read_pairs(text: &str) -> Result<Vec<Pair>, Vec<SheetFault>> {
    let sheet = Sheet::read(text)?;
    let [case, reference, prediction, distance, source] =
        sheet.require(["case", "reference", "prediction", "distance", "source"])?;
    let (mut pairs, mut faults) = (Vec::with_capacity(sheet.rows.len()), Vec::new());
    for row in &sheet.rows {
        for (name, column) in [("case", case), ("reference", reference), ("prediction", prediction)] {
            if row.field(Some(column)).is_empty() {
                faults.push(SheetFault::field(row.line, name, "a text", ""));
            }
        }
        let given = row.field(Some(distance));
        let distance = if given.is_empty() { Ok(f64::NAN) } else { given.parse() };
        match distance {
            Ok(distance) => pairs.push(Pair {
                case: row.field(Some(case)).to_owned(),
                reference: row.exact(reference).to_owned(),
                prediction: row.exact(prediction).to_owned(),
                distance,
                source: row.field(Some(source)).to_owned(),
                line: row.line,
            }),
            Err(_) => faults.push(SheetFault::field(row.line, "distance", "a number, or nothing", given)),
        }
    }
    if faults.is_empty() { Ok(pairs) } else { Err(faults) }
}

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditSettings {
    /// Pairs a band.
    pub n_per_band: usize,
    /// Seed of the draw, of the order and of which event comes first.
    pub seed: u64,
}

/// One pair to review.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditItem {
    /// Name on sheet, page and key.
    pub id: String,
    /// Position in the list of pairs.
    pub pair: usize,
    /// Band of its distance.
    pub band: usize,
    /// Whether the reference's event is shown first.
    pub reference_first: bool,
}

impl AuditItem {
    /// The two events in the order shown.
    pub fn events<'p>(&self, pairs: &'p [Pair]) -> [&'p str; 2] {
        let Pair { reference, prediction, .. } = &pairs[self.pair];
        if self.reference_first { [reference, prediction] } else { [prediction, reference] }
    }
}

/// How much of a band was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BandDraw {
    /// Pooled pairs in the band.
    pub n_pooled: usize,
    /// Of these, in the sample.
    pub n_drawn: usize,
}

/// A sample, in the order of the sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditSample {
    /// Pairs to review.
    pub items: Vec<AuditItem>,
    /// Of each band.
    pub bands: Vec<BandDraw>,
    /// Pairs read.
    pub n_pairs: usize,
    /// Dropped: no finite distance.
    pub n_not_finite: usize,
    /// Dropped: the same two texts stand in an earlier row.
    pub n_repeated: usize,
    /// Pooled, but outside every band.
    pub n_out_of_range: usize,
    /// First part of every id.
    pub code: String,
}

impl AuditSample {
    /// Bands with fewer pairs than were asked for, as sentences.
    pub fn shortfalls(&self, settings: AuditSettings) -> Vec<String> {
        let short = self.bands.iter().enumerate().filter(|(_, band)| band.n_drawn < settings.n_per_band);
        let sentence = |(i, band): (usize, &BandDraw)| {
            format!(
                "band {}: {} pairs asked for, {} there are; all of them are in the sample",
                super::band_name(i),
                settings.n_per_band,
                band.n_pooled
            )
        };
        short.map(sentence).collect()
    }
}

/// Pools the pairs (finite distance, each two texts once) and draws from each band without replacement.
///
/// # Source
/// gavel.txt: 25 pairs from each of four bands. Differs from source: which event comes first is drawn too, so that the sheet does not
/// tell the reference from the prediction.
pub fn draw(pairs: &[Pair], settings: AuditSettings) -> AuditSample {
    let (bands, seed) = (bands(), settings.seed);
    let pooled = pooled_pairs(pairs.iter().map(|pair| (pair.reference.as_str(), pair.prediction.as_str(), pair.distance)));
    let mut strata: Vec<Vec<usize>> = vec![Vec::new(); bands.n_bands()];
    let mut n_out_of_range = 0;
    for &pair in &pooled {
        match bands.band(pairs[pair].distance) {
            Some(band) => strata[band].push(pair),
            None => n_out_of_range += 1,
        }
    }
    let mut chosen = Vec::new();
    let mut drawn = Vec::with_capacity(strata.len());
    for (band, members) in strata.iter().enumerate() {
        let places = Draw::new(seed, "audit/band", band as u64).sample(members.len(), settings.n_per_band);
        drawn.push(BandDraw { n_pooled: members.len(), n_drawn: places.len() });
        chosen.extend(places.into_iter().map(|place| (members[place], band)));
    }
    Draw::new(seed, "audit/order", 0).shuffle(&mut chosen);
    let texts = chosen.iter().flat_map(|&(pair, _)| [pairs[pair].reference.as_str(), pairs[pair].prediction.as_str()]);
    let code = draw_code(seed, texts);
    let mut coins = Draw::new(seed, "audit/first", 0);
    let items = chosen.iter().enumerate().map(|(i, &(pair, band))| AuditItem {
        id: format!("{code}-{:03}", i + 1),
        pair,
        band,
        reference_first: coins.coin(),
    });
    let n_not_finite = pairs.iter().filter(|pair| !pair.distance.is_finite()).count();
    AuditSample {
        items: items.collect(),
        bands: drawn,
        n_pairs: pairs.len(),
        n_not_finite,
        n_repeated: pairs.len() - n_not_finite - pooled.len(),
        n_out_of_range,
        code,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// `n` pairs a band and a few that no audit uses.
    pub fn pairs(n: usize) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (band, distance) in [0.01, 0.08, 0.11, 0.2].into_iter().enumerate() {
            for i in 0..n {
                pairs.push(Pair {
                    case: format!("case-{}", i % 3),
                    reference: format!("fever {band}.{i}"),
                    prediction: format!("pyrexia {band}.{i}"),
                    distance,
                    source: "secret-model".to_owned(),
                    line: pairs.len() + 2,
                });
            }
        }
        for distance in [f64::NAN, 0.05, 0.9] {
            let mut pair = pairs[0].clone();
            pair.distance = distance;
            if distance == 0.9 {
                pair.prediction = "else".to_owned();
            }
            pairs.push(pair);
        }
        pairs
    }

    #[test]
    fn every_band_gives_its_share_and_what_is_left_out_is_counted() {
        let pairs = pairs(30);
        let settings = AuditSettings { n_per_band: 25, seed: 1 };
        let sample = draw(&pairs, settings);
        assert_eq!(sample.bands, [BandDraw { n_pooled: 30, n_drawn: 25 }; 4]);
        assert_eq!((sample.n_not_finite, sample.n_repeated, sample.n_out_of_range, sample.n_pairs), (1, 1, 1, 123));
        assert!(sample.shortfalls(settings).is_empty());
        let mut chosen: Vec<usize> = sample.items.iter().map(|item| item.pair).collect();
        chosen.sort_unstable();
        chosen.dedup();
        assert_eq!(chosen.len(), 100);
        // Shuffled across bands, and either event may come first.
        assert!(sample.items[..25].iter().any(|item| item.band != sample.items[0].band));
        let n_first = sample.items.iter().filter(|item| item.reference_first).count();
        assert!((30..70).contains(&n_first), "{n_first}");
        assert_eq!(draw(&pairs, settings), sample);
        assert_ne!(draw(&pairs, AuditSettings { seed: 2, ..settings }).items, sample.items);
    }

    #[test]
    fn a_small_band_gives_all_it_has_and_says_so() {
        let pairs = pairs(7);
        let settings = AuditSettings { n_per_band: 25, seed: 1 };
        let sample = draw(&pairs, settings);
        assert_eq!(sample.items.len(), 28);
        let said = sample.shortfalls(settings);
        assert_eq!(said.len(), 4);
        assert_eq!(said[1], "band [0.08, 0.10): 25 pairs asked for, 7 there are; all of them are in the sample");
        assert!(draw(&[], settings).items.is_empty());
    }

    #[test]
    fn files_of_pairs_are_read_and_checked() {
        let text =
            "source,case,reference,prediction,distance,more\ns,c,\"fever, high\",pyrexia,0.07,x\ns,c,a,b,,\ns,c,a,b,inf,\n";
        let pairs = read_pairs(text).unwrap();
        assert_eq!((pairs[0].reference.as_str(), pairs[0].distance, pairs[0].line), ("fever, high", 0.07, 2));
        assert!(pairs[1].distance.is_nan() && pairs[2].distance.is_infinite());
        let faults = read_pairs("case,reference,prediction,distance,source\nc,a,b,near,s\n,a,b,0.1,s\n").unwrap_err();
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            faults,
            [
                "line 2, column `distance`: expected a number, or nothing, got `near`",
                "line 3, column `case`: expected a text, got nothing"
            ]
        );
    }
}
