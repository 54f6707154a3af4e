//! Who may see what: which audiences each reader of a reply belongs to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use homeagent_settings::{Bindings, Database, DatabaseError};
use homeagent_types::{Audience, Cause, Principal, Role, Viewer};
use rusqlite::params;

/// What may be told in private to whom, beside what was said to them in private: the talk of groups in which they take
/// part, and for the owner's accounts that of each other. `person` is `namespace:user`.
const MIGRATIONS: &[&str] = &["
CREATE TABLE group_members (
    person TEXT NOT NULL,
    audience TEXT NOT NULL,          -- the group's, in its text form
    PRIMARY KEY (person, audience)
) STRICT, WITHOUT ROWID;
-- Accounts that the host itself knew to be the owner's, such as that of the terminal: no binding names them.
CREATE TABLE owner_accounts (
    person TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
"];

/// What is known of readers. Clones share it.
#[derive(Clone)]
pub struct Audiences {
    database: Database,
    bindings: Bindings,
    known: Arc<RwLock<Known>>,
}

#[derive(Default)]
struct Known {
    /// For each person the groups in which they were heard.
    groups: BTreeMap<String, BTreeSet<Audience>>,
    owner_accounts: BTreeSet<String>,
}

impl Audiences {
    /// Reads who was heard where.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(database: &Database, bindings: Bindings) -> Result<Self, DatabaseError> {
        database.migrate("audiences", MIGRATIONS)?;
        let known = database.read("reading who was heard where", |connection| {
            let mut known = Known::default();
            let mut members = connection.prepare("SELECT person, audience FROM group_members")?;
            for row in members.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))? {
                let (person, audience) = row?;
                known.groups.entry(person).or_default().insert(Audience::parse(&audience));
            }
            let mut accounts = connection.prepare("SELECT person FROM owner_accounts")?;
            known.owner_accounts = accounts.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            Ok(known)
        })?;
        Ok(Self { database: database.clone(), bindings, known: Arc::new(RwLock::new(known)) })
    }

    /// Notes who was heard by whom: that they take part in a group, or that a conversation is the owner's own.
    ///
    /// # Errors
    ///
    /// What the database answers; then it is not known either.
    pub fn heard(&self, who: &Principal, audience: &Audience) -> Result<(), DatabaseError> {
        match audience {
            Audience::Group(_) => self.heard_in_group(who.to_string(), audience),
            Audience::Person(person) if who.attested && who.role == Role::Owner => self.heard_the_owner(person),
            _ => Ok(()),
        }
    }

    pub(crate) fn heard_in_group(&self, person: String, group: &Audience) -> Result<(), DatabaseError> {
        if self.known().groups.get(&person).is_some_and(|groups| groups.contains(group)) {
            return Ok(());
        }
        self.database.write("noting who was heard in a group", |transaction| {
            let row = params![person, group.to_string()];
            transaction.execute("INSERT OR IGNORE INTO group_members (person, audience) VALUES (?1, ?2)", row)
        })?;
        self.change().groups.entry(person).or_default().insert(group.clone());
        Ok(())
    }

    pub(crate) fn heard_the_owner(&self, person: &str) -> Result<(), DatabaseError> {
        if self.known().owner_accounts.contains(person) {
            return Ok(());
        }
        self.database.write("noting an account of the owner's", |transaction| {
            transaction.execute("INSERT OR IGNORE INTO owner_accounts (person) VALUES (?1)", [person])
        })?;
        self.change().owner_accounts.insert(person.to_owned());
        Ok(())
    }

    /// Who was heard in which group, and the owner's accounts that no binding names; in order.
    pub(crate) fn all(&self) -> (Vec<(String, Audience)>, Vec<String>) {
        let known = self.known();
        let members =
            known.groups.iter().flat_map(|(person, groups)| groups.iter().map(|group| (person.clone(), group.clone())));
        (members.collect(), known.owner_accounts.iter().cloned().collect())
    }

    /// Forgets where a person (`namespace:user`) was heard.
    ///
    /// # Errors
    ///
    /// What the database answers; then it is still known.
    pub fn forget(&self, person: &str) -> Result<(), DatabaseError> {
        self.database.write("forgetting where somebody was heard", |transaction| {
            transaction.execute("DELETE FROM group_members WHERE person = ?1", [person])?;
            transaction.execute("DELETE FROM owner_accounts WHERE person = ?1", [person])
        })?;
        let mut known = self.change();
        known.groups.remove(person);
        known.owner_accounts.remove(person);
        Ok(())
    }

    /// What everybody may see who reads what is said before `audience`. All accounts that are bound as the owner are one
    /// person; what somebody said in a group stays in it, but for those who take part in it.
    #[must_use]
    pub fn viewer(&self, audience: &Audience) -> Viewer {
        let Audience::Person(person) = audience else { return Viewer::Only([audience.clone()].into()) };
        let mut accounts = BTreeSet::from([person.clone()]);
        let owner = self.owner_accounts();
        if owner.contains(person) {
            accounts.extend(owner);
        }
        Viewer::Only(self.seen_by(accounts))
    }

    fn owner_accounts(&self) -> BTreeSet<String> {
        let bound = self.bindings.list().into_iter().filter(|binding| binding.role == "owner");
        let mut owner: BTreeSet<String> = bound.map(|bound| format!("{}:{}", bound.namespace, bound.user)).collect();
        owner.extend(self.known().owner_accounts.iter().cloned());
        owner
    }

    /// What was said to these accounts in private, and in the groups in which they were heard.
    fn seen_by(&self, accounts: BTreeSet<String>) -> BTreeSet<Audience> {
        let known = self.known();
        let groups = accounts.iter().filter_map(|account| known.groups.get(account)).flatten().cloned();
        let mut seen: BTreeSet<Audience> = groups.collect();
        seen.extend(accounts.into_iter().map(Audience::Person));
        seen
    }

    /// What the owner may be told in private, on whatever account.
    #[must_use]
    pub fn owner(&self) -> Viewer {
        let accounts = self.owner_accounts();
        Viewer::Only(self.seen_by(accounts))
    }

    /// The same for what comes of a call.
    #[must_use]
    pub fn viewer_of(&self, cause: &Cause) -> Viewer {
        self.viewer(&cause.audience)
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(namespace: &str, user: &str, role: Role) -> Principal {
        let attested = role == Role::Owner;
        Principal { namespace: namespace.into(), user: user.into(), role, display_name: None, attested }
    }

    #[test]
    fn what_is_seen_in_private_is_ones_own_and_ones_groups_and_survives_a_restart() {
        let home = tempfile::tempdir().expect("a folder");
        let database = Database::open(home.path().join("memory.db")).expect("a new database");
        let bindings = Bindings::open(&database).expect("new bindings");
        let [li, wang] = ["1", "2"].map(|user| principal("qq", user, Role::Member));
        let owner = principal("cli", "me", Role::Owner);
        let person = |who: &str| Audience::Person(who.to_owned());
        let group = Audience::Group("qq:7".to_owned());
        let audiences = Audiences::open(&database, bindings.clone()).expect("it opens");
        audiences.heard(&li, &group).expect("noted");
        audiences.heard(&li, &person("qq:1")).expect("noted");
        audiences.heard(&owner, &person("cli:me")).expect("noted");
        bindings.bind("qq", "9", "owner").expect("bound");
        for audiences in [audiences, Audiences::open(&database, bindings).expect("it opens again")] {
            let of_li = audiences.viewer(&person("qq:1"));
            assert!(of_li.may_see(&group) && of_li.may_see(&person("qq:1")) && !of_li.may_see(&person("qq:2")));
            assert!(!audiences.viewer(&person(&wang.to_string())).may_see(&group), "who was never heard there");
            let of_group = audiences.viewer(&group);
            assert!(of_group.may_see(&group) && !of_group.may_see(&person("qq:1")));
            assert!(audiences.viewer(&person("qq:9")).may_see(&person("cli:me")), "both are the owner");
            let of_owner = audiences.owner();
            assert!(of_owner.may_see(&person("cli:me")) && of_owner.may_see(&person("qq:9")));
            assert!(!of_owner.may_see(&person("qq:1")) && !of_owner.may_see(&group));
            assert!(!audiences.viewer(&Audience::Agent).may_see(&Audience::Agent));
        }
    }
}
