//! Which addresses are on the public Internet.
//!
//! By the registries of special-purpose addresses. An IPv6 address that stands for an IPv4 one (mapped, compatible,
//! translated, tunnelled) is never public, whatever it stands for: nobody's name resolves to one, and where it leads
//! depends on the machine.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of address it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Anybody's.
    Public,
    /// Of a home's or a company's own network, or of a provider's between its customers.
    Private,
    /// This machine.
    Loopback,
    /// Of the wire alone; where clouds tell machines their keys.
    LinkLocal,
    /// Many machines at once.
    Multicast,
    /// IPv6 for an IPv4 address.
    Translated,
    /// No machine has it: unspecified, for documentation, for benchmarks, reserved.
    Reserved,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Public => "a public address",
            Class::Private => "a private address",
            Class::Loopback => "an address of this machine itself",
            Class::LinkLocal => "a link-local address",
            Class::Multicast => "a multicast address",
            Class::Translated => "an IPv6 address that stands for an IPv4 one",
            Class::Reserved => "a reserved address",
        })
    }
}

/// What kind of address this is.
#[must_use]
pub fn classify(address: IpAddr) -> Class {
    match address {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

fn classify_v4(address: Ipv4Addr) -> Class {
    match address.octets() {
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Class::Private,
        [127, ..] => Class::Loopback,
        [169, 254, ..] => Class::LinkLocal,
        [224..=239, ..] => Class::Multicast,
        // This network, protocol assignments, documentation, relays to 6to4, benchmarks, the future and broadcast.
        [0, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Class::Reserved,
        _ => Class::Public,
    }
}

fn classify_v6(address: Ipv6Addr) -> Class {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Class::Reserved,
        [0, 0, 0, 0, 0, 0, 0, 1] => Class::Loopback,
        // Compatible, mapped, and translated in the kernel's ways; NAT64, well known and local; 6to4; Teredo.
        [0, 0, 0, 0, 0, 0, ..]
        | [0, 0, 0, 0, 0, 0xffff, ..]
        | [0, 0, 0, 0, 0xffff, 0, ..]
        | [0x64, 0xff9b, ..]
        | [0x2002, ..]
        | [0x2001, 0, ..] => Class::Translated,
        [0xfc00..=0xfdff, ..] => Class::Private,
        [0xfe80..=0xfebf, ..] => Class::LinkLocal,
        [0xff00..=0xffff, ..] => Class::Multicast,
        // Protocol assignments, documentation.
        [0x2001, 1..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Class::Reserved,
        // All that is given out.
        [0x2000..=0x3fff, ..] => Class::Public,
        _ => Class::Reserved,
    }
}
