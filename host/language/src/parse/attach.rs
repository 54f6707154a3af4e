//! Which word belongs to which: groups of words first, then clauses by the order in which the groups stand.

use super::{Language, Tagged, Token, Upos};

/// Builds the tree of tagged words.
pub(super) fn tree(language: Language, tagged: Vec<Tagged>) -> Vec<Token> {
    let tokens = tagged.into_iter().map(|word| Token {
        span: word.span,
        text: word.text,
        upos: word.upos,
        head: None,
        deprel: String::new(),
    });
    let mut builder = Builder { language, tokens: tokens.collect(), state: State::default() };
    let groups = builder.groups();
    for at in 0..groups.len() {
        builder.place(&groups, at);
    }
    builder.finish()
}

/// A group of words, by its main one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// Somebody or something.
    Nominal(usize),
    /// A verb; whether it is a bare "to" form or a participle without an auxiliary.
    Verb(usize, Form),
    /// "Is", with nothing but a nominal or an adjective to follow.
    Copula(usize),
    /// An adjective on its own.
    Adjective(usize),
    Preposition(usize),
    Conjunction(usize),
    /// Begins a clause that depends: "because", "who".
    Begin(usize),
    Comma(usize),
    /// A full stop or another break.
    Break(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Finite,
    Infinitive,
    Participle,
    Passive,
}

/// How far the clauses are.
#[derive(Default)]
struct State {
    root: Option<usize>,
    subject: Option<usize>,
    verb: Option<usize>,
    object: Option<usize>,
    last_nominal: Option<usize>,
    preposition: Option<usize>,
    copula: Option<usize>,
    conjunction: Option<usize>,
    begin: Option<usize>,
    /// Nominals before any verb that wait for one, with their prepositions.
    waiting: Vec<(usize, usize)>,
}

struct Builder {
    language: Language,
    tokens: Vec<Token>,
    state: State,
}

impl Builder {
    fn upos(&self, at: usize) -> Option<Upos> {
        self.tokens.get(at).map(|token| token.upos)
    }

    fn lower(&self, at: usize) -> String {
        self.tokens.get(at).map(|token| token.text.to_lowercase()).unwrap_or_default()
    }

    fn link(&mut self, at: usize, head: usize, deprel: &str) {
        let free = |token: &&mut Token| at != head && token.head.is_none() && token.deprel.is_empty();
        if let Some(token) = self.tokens.get_mut(at).filter(free) {
            token.head = Some(head);
            token.deprel = deprel.to_owned();
        }
    }

    /// Cuts the words into groups and attaches what lies within each.
    fn groups(&mut self) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let (group, next) = self.group(at);
            groups.extend(group);
            at = next.max(at + 1);
        }
        groups
    }

    fn group(&mut self, at: usize) -> (Option<Group>, usize) {
        let Some(upos) = self.upos(at) else { return (None, at + 1) };
        match upos {
            Upos::Det | Upos::Num | Upos::Noun | Upos::Propn | Upos::Pron => self.nominal(at),
            Upos::Adj => self.adjective_or_nominal(at),
            Upos::Aux | Upos::Verb => self.verb(at),
            Upos::Part if self.lower(at) == "to" && self.upos(at + 1) == Some(Upos::Verb) => self.verb(at),
            Upos::Adv | Upos::Part => {
                let (group, next) = self.after_adverb(at);
                (group, next)
            }
            Upos::Adp => (Some(Group::Preposition(at)), at + 1),
            Upos::Cconj => (Some(Group::Conjunction(at)), at + 1),
            Upos::Sconj => (Some(Group::Begin(at)), at + 1),
            Upos::Punct if matches!(self.lower(at).as_str(), "," | "，" | "、") => (Some(Group::Comma(at)), at + 1),
            Upos::Punct => (Some(Group::Break(at)), at + 1),
            _ => (None, at + 1),
        }
    }

    /// Adverbs belong to the next verb or adjective group.
    fn after_adverb(&mut self, at: usize) -> (Option<Group>, usize) {
        let mut next = at;
        while matches!(self.upos(next), Some(Upos::Adv | Upos::Part)) && self.lower(next) != "的" {
            next += 1;
        }
        if next == at {
            return (None, at + 1);
        }
        if !matches!(self.upos(next), Some(Upos::Verb | Upos::Aux | Upos::Adj)) {
            return (None, next);
        }
        let (group, end) = self.group(next);
        if let Some(Group::Verb(head, _) | Group::Copula(head) | Group::Adjective(head) | Group::Nominal(head)) = group
        {
            for adverb in at..next {
                self.link(adverb, head, "advmod");
            }
        }
        (group, end)
    }

    fn adjective_or_nominal(&mut self, at: usize) -> (Option<Group>, usize) {
        let mut next = at;
        while matches!(self.upos(next), Some(Upos::Adj | Upos::Adv)) {
            next += 1;
        }
        let attributive = matches!(self.upos(next), Some(Upos::Noun | Upos::Propn))
            || (self.lower(next) == "的" && matches!(self.upos(next + 1), Some(Upos::Noun | Upos::Propn)));
        if attributive { self.nominal(at) } else { (Some(Group::Adjective(at)), at + 1) }
    }

    /// A nominal group: its last noun is its main word; what stands before belongs to it.
    fn nominal(&mut self, at: usize) -> (Option<Group>, usize) {
        let mut end = at;
        let mut head = None;
        let mut owners = Vec::new();
        while let Some(upos) = self.upos(end) {
            let word = self.lower(end);
            let own = matches!(word.as_str(), "'s" | "’s" | "的" | "之");
            match upos {
                Upos::Part
                    if own
                        && head.is_some()
                        && matches!(self.upos(end + 1), Some(Upos::Noun | Upos::Propn | Upos::Adj | Upos::Num)) =>
                {
                    owners.extend(head.take().map(|owner| (owner, end)));
                }
                Upos::Part if own && head.is_none() && end > at => {}
                Upos::Noun | Upos::Propn | Upos::Num => head = Some(end),
                Upos::Pron if head.is_none() => head = Some(end),
                Upos::Pron if self.language == Language::Chinese && matches!(word.as_str(), "这" | "那" | "每") => {}
                Upos::Det | Upos::Adj
                    if head.is_none()
                        || (upos == Upos::Adj && matches!(self.upos(end + 1), Some(Upos::Noun | Upos::Propn))) => {}
                _ => break,
            }
            end += 1;
            let pronoun_alone = upos == Upos::Pron && self.language == Language::English;
            if pronoun_alone {
                break;
            }
        }
        let Some(head) = head else { return (None, end.max(at + 1)) };
        for (owner, mark) in owners {
            self.link(owner, head, "nmod:poss");
            self.link(mark, owner, "case");
        }
        for word in (at..end).filter(|word| *word != head) {
            let deprel = match self.upos(word) {
                Some(Upos::Det) => "det",
                Some(Upos::Adj) => "amod",
                Some(Upos::Num) => "nummod",
                Some(Upos::Pron) => "nmod",
                Some(Upos::Part) => "case",
                _ => "compound",
            };
            self.link(word, head, deprel);
        }
        let relative =
            self.language == Language::English && matches!(self.lower(head).as_str(), "who" | "which" | "whom");
        (Some(if relative { Group::Begin(head) } else { Group::Nominal(head) }), end)
    }

    /// A verb with its auxiliaries, adverbs and particles.
    fn verb(&mut self, at: usize) -> (Option<Group>, usize) {
        let infinitive = self.lower(at) == "to";
        let mut end = at;
        let mut main = None;
        let mut last_auxiliary = None;
        while let Some(upos) = self.upos(end) {
            match upos {
                Upos::Verb if main.is_none() => main = Some(end),
                Upos::Aux if main.is_none() => last_auxiliary = Some(end),
                Upos::Adv if self.lower(end) != "more" && (main.is_none() || self.language == Language::English) => {}
                Upos::Part if matches!(self.lower(end).as_str(), "not" | "n't" | "n’t" | "to" | "了" | "过" | "着") =>
                    {}
                Upos::Verb
                    if self.language == Language::Chinese
                        && matches!(self.lower(end).as_str(), "起来" | "出来" | "下来" | "上" | "下" | "成" | "完") =>
                    {}
                _ => break,
            }
            end += 1;
        }
        let head = main.or(last_auxiliary).unwrap_or(at);
        for word in (at..end).filter(|word| *word != head) {
            let deprel = match self.upos(word) {
                Some(Upos::Aux) => "aux",
                Some(Upos::Adv) => "advmod",
                Some(Upos::Part) if matches!(self.lower(word).as_str(), "not" | "n't" | "n’t") => "advmod",
                Some(Upos::Part) if self.lower(word) == "to" => "mark",
                Some(Upos::Part) => "aux",
                _ => "compound",
            };
            self.link(word, head, deprel);
        }
        if main.is_none() {
            return (Some(Group::Copula(head)), end);
        }
        (Some(Group::Verb(head, self.form(head, last_auxiliary, infinitive))), end)
    }

    fn form(&self, verb: usize, auxiliary: Option<usize>, infinitive: bool) -> Form {
        let word = self.lower(verb);
        let being = auxiliary.is_some_and(|at| {
            matches!(
                self.lower(at).as_str(),
                "am" | "is" | "are" | "was" | "were" | "be" | "been" | "being" | "'s" | "'re"
            )
        });
        if infinitive {
            Form::Infinitive
        } else if being && !word.ends_with("ing") {
            Form::Passive
        } else if auxiliary.is_none() && self.language == Language::English && word.ends_with("ing") {
            Form::Participle
        } else {
            Form::Finite
        }
    }

    /// Puts one group where it belongs.
    fn place(&mut self, groups: &[Group], at: usize) {
        match groups.get(at).copied() {
            Some(Group::Nominal(head)) => self.place_nominal(groups, at, head),
            Some(Group::Verb(head, form)) => self.place_verb(head, form),
            Some(Group::Copula(head)) => self.state.copula = Some(head),
            Some(Group::Adjective(head)) => self.place_adjective(head),
            Some(Group::Preposition(head)) => self.state.preposition = Some(head),
            Some(Group::Conjunction(head)) => self.state.conjunction = Some(head),
            Some(Group::Begin(head)) => self.state.begin = Some(head),
            Some(Group::Comma(_)) => self.state.preposition = None,
            Some(Group::Break(_)) | None => {
                let root = self.state.root;
                self.state = State { root, ..State::default() };
            }
        }
    }

    /// Whether a finite verb follows before anything but adverbs and prepositional groups.
    fn verb_follows(groups: &[Group], at: usize) -> bool {
        let mut prepositional = false;
        for group in groups.iter().skip(at + 1) {
            match group {
                Group::Verb(_, Form::Finite | Form::Passive) | Group::Copula(_) => return true,
                Group::Preposition(_) => prepositional = true,
                Group::Nominal(_) if prepositional => prepositional = false,
                Group::Adjective(_) => {}
                _ => return false,
            }
        }
        false
    }

    fn place_nominal(&mut self, groups: &[Group], at: usize, head: usize) {
        if let Some(preposition) = self.state.preposition.take() {
            self.link(preposition, head, "case");
            self.oblique(preposition, head);
            self.state.last_nominal = Some(head);
            return;
        }
        if let Some(copula) = self.state.copula.take() {
            return self.predicate(copula, head);
        }
        let between_commas =
            at.checked_sub(1).is_some_and(|before| matches!(groups.get(before), Some(Group::Comma(_))))
                && matches!(groups.get(at + 1), Some(Group::Comma(_)));
        if let (true, None, Some(subject)) =
            (between_commas && Self::verb_follows(groups, at + 1), self.state.verb, self.state.subject)
        {
            self.link(head, subject, "appos");
            return;
        }
        let follows = Self::verb_follows(groups, at);
        if let Some(conjunction) = self.state.conjunction.take() {
            if let Some(first) = self.state.last_nominal.filter(|_| !follows || self.state.verb.is_none()) {
                self.link(conjunction, head, "cc");
                self.link(head, first, "conj");
                return;
            }
            self.state.subject = Some(head);
            self.state.begin = None;
            self.state.conjunction = Some(conjunction);
        } else if self.state.verb.is_none()
            || (follows && (self.state.object.is_none() || self.language == Language::Chinese))
        {
            self.state.subject = Some(head);
            if self.state.verb.is_some() {
                self.state.begin = self.state.begin.or(Some(head));
            }
        } else if let (Some(verb), None) = (self.state.verb, self.state.object) {
            self.link(head, verb, "obj");
            self.state.object = Some(head);
        } else if let Some(object) = self.state.object {
            let comma = matches!(at.checked_sub(1).and_then(|at| groups.get(at)), Some(Group::Comma(_)));
            if follows {
                self.state.subject = Some(head);
            } else if comma {
                let numbers = self.upos(head) == Some(Upos::Num) || self.upos(object) == Some(Upos::Num);
                self.link(head, object, if numbers { "conj" } else { "appos" });
            } else if let Some(verb) = self.state.verb {
                // "Gave him a book": the first is whom, the second what.
                if let Some(token) = self.tokens.get_mut(object).filter(|token| token.deprel == "obj") {
                    token.deprel = "iobj".to_owned();
                }
                self.link(head, verb, "obj");
                self.state.object = Some(head);
            }
        }
        self.state.last_nominal = Some(head);
    }

    /// A nominal behind a preposition belongs to the noun before ("of", or no verb yet) or to the verb.
    fn oblique(&mut self, preposition: usize, head: usize) {
        let of = self.lower(preposition) == "of";
        match (self.state.verb, self.state.last_nominal) {
            (_, Some(nominal)) if of => self.link(head, nominal, "nmod"),
            (Some(verb), _) => self.link(head, verb, "obl"),
            (None, Some(nominal)) if self.language == Language::English && self.state.subject == Some(nominal) => {
                self.link(head, nominal, "nmod");
            }
            (None, _) => self.state.waiting.push((preposition, head)),
        }
    }

    fn place_verb(&mut self, verb: usize, form: Form) {
        let state = std::mem::take(&mut self.state);
        let (subject, before) = (state.subject, state.verb);
        let fresh = subject.filter(|subject| self.tokens.get(*subject).is_some_and(|token| token.head.is_none()));
        let mut next =
            State { root: state.root, verb: Some(verb), subject, last_nominal: state.last_nominal, ..State::default() };
        let relative = state.begin.filter(|begin| self.upos(*begin) == Some(Upos::Pron));
        match (form, before) {
            (Form::Infinitive, Some(before)) => self.link(verb, before, "xcomp"),
            (Form::Participle, _) if subject.is_some() || before.is_some() => {
                let nominal = state.last_nominal.filter(|nominal| Some(*nominal) != subject || before.is_none());
                match (nominal, before) {
                    (Some(nominal), _) => self.link(verb, nominal, "acl"),
                    (None, Some(before)) => self.link(verb, before, "advcl"),
                    (None, None) => {}
                }
            }
            _ if relative.is_some() || (state.begin.is_some() && fresh.is_none() && before.is_none()) => {
                match state.last_nominal {
                    Some(nominal) => {
                        self.link(verb, nominal, "acl:relcl");
                        next.subject = None;
                        if let Some(relative) = relative {
                            self.link(relative, verb, if fresh.is_some() { "obj" } else { "nsubj" });
                        }
                    }
                    None => self.attach_clause(verb, before, "advcl", &mut next),
                }
            }
            (_, Some(before)) if fresh.is_none() && state.conjunction.is_some() => {
                self.link(verb, before, "conj");
                if let Some(conjunction) = state.conjunction {
                    self.link(conjunction, verb, "cc");
                }
            }
            (_, Some(before)) if fresh.is_none() && self.language == Language::Chinese => {
                self.link(verb, before, "conj");
            }
            (_, Some(before)) if fresh.is_none() && form == Form::Finite => self.link(verb, before, "conj"),
            (_, before) => {
                let deprel = if state.conjunction.is_some() {
                    "conj"
                } else if state.begin.is_some() {
                    "ccomp"
                } else {
                    "parataxis"
                };
                self.attach_clause(verb, before, deprel, &mut next);
            }
        }
        if let Some(subject) = fresh.filter(|_| form != Form::Participle || before.is_none()) {
            self.link(subject, verb, if form == Form::Passive { "nsubj:pass" } else { "nsubj" });
        }
        for (preposition, waiting) in state.waiting {
            let deprel = if self.lower(preposition) == "把" {
                "obj"
            } else if self.lower(preposition) == "被" {
                "obl:agent"
            } else {
                "obl"
            };
            self.link(waiting, verb, deprel);
        }
        self.state = next;
    }

    /// Makes a verb the root, or what it is to the clause before.
    fn attach_clause(&mut self, verb: usize, before: Option<usize>, deprel: &str, next: &mut State) {
        match before.or(next.root) {
            Some(before) => self.link(verb, before, deprel),
            None => {
                next.root = Some(verb);
                if let Some(token) = self.tokens.get_mut(verb) {
                    token.deprel = "root".to_owned();
                }
            }
        }
    }

    /// "X is Y": Y is what is said, "is" its copula.
    fn predicate(&mut self, copula: usize, head: usize) {
        let state = std::mem::take(&mut self.state);
        let mut next = State {
            root: state.root,
            verb: Some(head),
            subject: state.subject,
            last_nominal: Some(head),
            object: Some(head),
            ..State::default()
        };
        let relative = state.begin.filter(|begin| self.upos(*begin) == Some(Upos::Pron));
        let fresh = state.subject.filter(|subject| self.tokens.get(*subject).is_some_and(|token| token.head.is_none()));
        match (relative, state.last_nominal) {
            (Some(relative), Some(nominal)) => {
                self.link(head, nominal, "acl:relcl");
                self.link(relative, head, "nsubj");
                next.subject = None;
            }
            _ => {
                let deprel = if state.conjunction.is_some() { "conj" } else { "ccomp" };
                self.attach_clause(head, state.verb, deprel, &mut next);
            }
        }
        self.link(copula, head, "cop");
        if let Some(subject) = fresh {
            self.link(subject, head, "nsubj");
        }
        self.state = next;
    }

    fn place_adjective(&mut self, head: usize) {
        match (self.state.copula.take(), self.state.subject) {
            (Some(copula), _) => {
                self.predicate(copula, head);
                self.state.object = None;
            }
            (None, Some(_)) if self.language == Language::Chinese && self.state.verb.is_none() => {
                self.place_verb(head, Form::Finite);
            }
            _ => {
                if let Some(verb) = self.state.verb {
                    self.link(head, verb, "xcomp");
                }
            }
        }
    }

    /// Whatever is left belongs to the root; a sentence without one has its first word as root.
    fn finish(mut self) -> Vec<Token> {
        let root =
            self.state.root.or_else(|| self.tokens.iter().position(|token| token.upos.is_nominal())).unwrap_or(0);
        for (at, token) in self.tokens.iter_mut().enumerate() {
            if at == root {
                (token.head, token.deprel) = (None, "root".to_owned());
            } else if token.head.is_none() {
                token.head = Some(root);
                let punctuation = token.upos == Upos::Punct;
                token.deprel = if punctuation { "punct" } else { "dep" }.to_owned();
            }
        }
        break_circles(&mut self.tokens, root);
        self.tokens
    }
}

/// Every word reaches the root: what goes round in a circle is tied to it.
fn break_circles(tokens: &mut [Token], root: usize) {
    for start in 0..tokens.len() {
        let (mut at, mut steps) = (start, 0);
        while let Some(head) = tokens.get(at).and_then(|token| token.head) {
            (at, steps) = (head, steps + 1);
            if steps > tokens.len() {
                if let Some(token) = tokens.get_mut(start) {
                    token.head = Some(root);
                    token.deprel = "dep".to_owned();
                }
                break;
            }
        }
    }
}
