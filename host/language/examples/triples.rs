//! How many of the statements that people find in sentences the extractor finds too: `triples FILE` reads gold extractions
//! of CaRB's form (sentence, predicate, arguments, parted by tabs) and prints shares of words, leniently matched: each gold
//! extraction with the found one that shares most words with it, and the other way round. With `--show N`, the first
//! sentences and what is found in them too.

use std::collections::{BTreeMap, HashMap};
use std::{env, fs, process};

use homeagent_language::parse::RuleParser;
use homeagent_language::text;
use homeagent_language::triples::{Triple, doubt, of_sentence};

/// The words of an extraction, with how often each stands in it.
type Bag = HashMap<String, usize>;

fn bag<'a>(parts: impl IntoIterator<Item = &'a str>) -> Bag {
    let mut bag = Bag::new();
    for word in parts.into_iter().flat_map(text::words) {
        *bag.entry(word).or_default() += 1;
    }
    bag
}

fn size(bag: &Bag) -> usize {
    bag.values().sum()
}

fn shared(a: &Bag, b: &Bag) -> usize {
    a.iter().map(|(word, count)| (*count).min(b.get(word).copied().unwrap_or(0))).sum()
}

/// The share of the words of `of` that are found in what fits best among `among`, summed over all.
fn covered(of: &[Bag], among: &[Bag]) -> (usize, usize) {
    let best = |bag: &Bag| among.iter().map(|other| shared(bag, other)).max().unwrap_or(0);
    (of.iter().map(best).sum(), of.iter().map(size).sum())
}

fn words_of(triple: &Triple) -> Bag {
    bag([triple.subject.as_str(), triple.predicate.as_str(), triple.object.as_str()])
}

fn percent((part, whole): (usize, usize)) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

fn report(name: &str, gold: &BTreeMap<String, Vec<Bag>>, keep: impl Fn(&Triple, &str) -> bool) {
    let (mut recall, mut precision, mut count) = ((0, 0), (0, 0), 0);
    for (sentence, gold) in gold {
        let found: Vec<Bag> =
            of_sentence(sentence, &RuleParser).iter().filter(|triple| keep(triple, sentence)).map(words_of).collect();
        count += found.len();
        let (r, p) = (covered(gold, &found), covered(&found, gold));
        recall = (recall.0 + r.0, recall.1 + r.1);
        precision = (precision.0 + p.0, precision.1 + p.1);
    }
    let (recall, precision) = (percent(recall), percent(precision));
    let f1 = 2.0 * recall * precision / (recall + precision).max(f64::MIN_POSITIVE);
    println!("{name}: {count} triples, precision {precision:.1} recall {recall:.1} F1 {f1:.1}");
}

fn main() {
    let mut arguments = env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: triples FILE [--show N]");
        process::exit(2);
    };
    let show: usize = arguments.nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
    let Ok(table) = fs::read_to_string(&file) else {
        println!("there is no {file} here: nothing is measured");
        return;
    };
    let mut gold: BTreeMap<String, Vec<Bag>> = BTreeMap::new();
    for line in table.lines() {
        let mut fields = line.split('\t');
        let Some(sentence) = fields.next() else { continue };
        gold.entry(sentence.to_owned()).or_default().push(bag(fields));
    }
    for sentence in gold.keys().take(show) {
        println!("{sentence}");
        for triple in of_sentence(sentence, &RuleParser) {
            println!(
                "    {} | {} | {}   {:?}",
                triple.subject,
                triple.predicate,
                triple.object,
                doubt(&triple, sentence)
            );
        }
    }
    println!("{} sentences, {} gold extractions", gold.len(), gold.values().map(Vec::len).sum::<usize>());
    report("extracted", &gold, |_, _| true);
    report("verified", &gold, |triple, sentence| doubt(triple, sentence).is_none());
}
