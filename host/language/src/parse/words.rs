//! English words whose part of speech is known: the closed classes whole, and verbs that are said often.

/// Determiners and possessives.
pub(super) const DETERMINERS: &str = " a an the this that these those my your his her its our their some any each every no all both another which whose such ";
/// Pronouns.
pub(super) const PRONOUNS: &str = " i you he she it we they me him us them myself yourself himself herself itself ourselves themselves who whom what someone somebody something everyone everybody everything anyone anybody anything nobody nothing one others mine yours hers ours theirs ";
/// Prepositions.
pub(super) const PREPOSITIONS: &str = " in on at by for with from to of about into over after under between out against during without before through off near across behind beyond among around along above below toward towards upon within since until despite via per like as than onto outside inside beside besides throughout amid including concerning regarding following ";
/// Auxiliary verbs.
pub(super) const AUXILIARIES: &str = " am is are was were be been being have has had do does did will would can could may might shall should must 's 're 've 'll 'd 'm wo ca ";
/// Conjunctions that join equals.
pub(super) const COORDINATORS: &str = " and or but nor yet ";
/// Conjunctions that begin a clause that depends on another.
pub(super) const SUBORDINATORS: &str =
    " because if although though while whereas unless whether when where why how once ";
/// Adverbs without an ending that shows it.
pub(super) const ADVERBS: &str = " not n't never also very too so just still already always often sometimes again now then here there soon later ago even only almost quite rather really perhaps maybe once twice however therefore thus instead together away back today yesterday tomorrow first far well more most less least currently ";
/// Adjectives said often, which no ending shows.
pub(super) const ADJECTIVES: &str = " new old good bad great big small large little long short high low young early late important own other same different many much few several last next first second great best better worse major main full free white black red blue green local public private social national political american british chinese french german strong true able available likely ";

/// Verbs by their plain form; endings are tried on unknown words.
pub(super) const VERBS: &str = " accept achieve act add admit affect agree aim allow announce appear apply argue arrive ask attack attend avoid bear beat become begin believe belong bring build buy call carry catch cause celebrate change charge check choose claim close collect come compete complete consider contain continue control cook cost cover create cross cut deal decide defeat defend deliver depend describe design destroy develop die direct discover discuss divide draw drink drive drop earn eat elect employ enable encourage end enjoy enter establish exist expand expect experience explain express face fail fall feature feel fight fill find finish fly focus follow force form found gain get give go grow guess handle hang happen hate head hear help hit hold hope host identify imagine improve include increase indicate inform intend introduce invest invite involve join keep kill know lack land last laugh launch lead learn leave lend let lie like limit listen live locate look lose love maintain make manage mark marry matter mean measure meet mention mind miss move name need note notice number obtain occur offer open operate order organize own pass pay perform pick place plan play point prefer prepare present prevent produce promise protect prove provide publish pull push put raise reach read realize receive recognize record reduce refer reflect refuse release remain remember remove replace report represent require rest result return reveal ride ring rise run save say see seek seem sell send serve set settle share show shut sign sing sit sleep smile solve speak spend stand start state stay stop study succeed suffer suggest supply support suppose surround survive take talk teach tell tend test thank think throw touch train travel treat try turn understand use visit vote wait walk want warn wash watch wear win wish wonder work worry write adopt graduate retire relocate hire quit own manage paint bake repair water feed clean rent resign ";

/// Irregular forms of verbs.
pub(super) const IRREGULAR: &str = " went gone came became began begun brought built bought caught chose chosen cut dealt drew drawn drank drunk drove driven ate eaten fell fallen felt fought found flew flown forgot forgotten got gotten gave given grew grown heard held hid hit hurt kept knew known laid led left lent let lay lain lost made meant met paid put read rode ridden rang rose risen ran said saw seen sold sent set shook shone shot showed shown shut sang sung sat slept spoke spoken spent stood stole stolen struck swam swum took taken taught told thought threw thrown understood woke woken wore worn won wrote written bore born broke broken bent bound bred cast ";

/// Whether a folded word is in a list.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    list.contains(&format!(" {word} "))
}
