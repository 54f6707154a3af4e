//! Which addresses are public, against the registries of special-purpose addresses, and however an address is spelled.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use homeagent_network::address::{Class, classify};
use homeagent_network::{Host, http};
use proptest::prelude::*;

/// The blocks that the registries say are not to be reached over the Internet, and multicast.
const SPECIAL_V4: [&str; 17] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "169.254.169.254/32",
];
const SPECIAL_V6: [&str; 17] = [
    "::/128",
    "::1/128",
    "::/96",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/23",
    "2001::/32",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
];

fn within(block: &str, address: IpAddr) -> bool {
    let (base, length) = block.split_once('/').expect("a block has a length");
    let (base, length): (IpAddr, u32) = (base.parse().expect("an address"), length.parse().expect("a number"));
    let (base, address, width) = match (base, address) {
        (IpAddr::V4(base), IpAddr::V4(address)) => (u128::from(u32::from(base)), u128::from(u32::from(address)), 32),
        (IpAddr::V6(base), IpAddr::V6(address)) => (u128::from(base), u128::from(address), 128),
        _ => return false,
    };
    let mask = u128::MAX.checked_shl(width - length).unwrap_or(0);
    base & mask == address & mask
}

/// An address of one of the blocks, with whatever bits behind its length.
fn in_block(block: &str, bits: u128) -> IpAddr {
    let (base, length) = block.split_once('/').expect("a block has a length");
    let length: u32 = length.parse().expect("a number");
    match base.parse().expect("an address") {
        IpAddr::V4(base) => {
            let free = u32::MAX.checked_shr(length).unwrap_or(0);
            let bits = u32::try_from(bits & u128::from(u32::MAX)).expect("it has 32 bits");
            Ipv4Addr::from(u32::from(base) | (bits & free)).into()
        }
        IpAddr::V6(base) => {
            Ipv6Addr::from(u128::from(base) | (bits & u128::MAX.checked_shr(length).unwrap_or(0))).into()
        }
    }
}

fn special(address: IpAddr) -> bool {
    let in_2000 = matches!(address, IpAddr::V6(it) if it.segments()[0] & 0xe000 == 0x2000);
    SPECIAL_V4.iter().chain(&SPECIAL_V6).any(|block| within(block, address)) || (address.is_ipv6() && !in_2000)
}

proptest! {
    #[test]
    fn what_the_registries_name_is_not_public(block in 0..34_usize, bits: u128) {
        let block = SPECIAL_V4.iter().chain(&SPECIAL_V6).nth(block).expect("there are so many");
        let address = in_block(block, bits);
        prop_assert_ne!(classify(address), Class::Public, "{} of {}", address, block);
    }

    #[test]
    fn an_ipv4_address_is_public_where_no_registry_names_it(bits: u32) {
        let address = IpAddr::from(Ipv4Addr::from(bits));
        prop_assert_eq!(classify(address) == Class::Public, !special(address), "{}", address);
    }

    #[test]
    fn an_ipv6_address_is_public_where_it_is_given_out_and_no_registry_names_it(first in 0x1ff0_u16..0x4010, rest: u128) {
        let address = IpAddr::from(Ipv6Addr::from((u128::from(first) << 112) | (rest >> 16)));
        prop_assert_eq!(classify(address) == Class::Public, !special(address), "{}", address);
    }

    #[test]
    fn no_ipv6_address_stands_for_an_ipv4_one(bits: u32, other: u128) {
        let v4 = Ipv4Addr::from(bits);
        let [a, b, c, d] = v4.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let six_to_four = Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1);
        let nat64 = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low);
        let local_nat64 = Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low);
        let translated = Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low);
        let teredo = Ipv6Addr::from((0x2001_0000_u128 << 96) | (other >> 32));
        let all = [v4.to_ipv6_mapped(), v4.to_ipv6_compatible(), six_to_four, nat64, local_nat64, translated, teredo];
        for address in all {
            prop_assert_ne!(classify(address.into()), Class::Public, "{}", address);
        }
    }

    #[test]
    fn an_address_is_the_same_however_a_url_spells_it(bits: u32) {
        let address = Ipv4Addr::from(bits);
        let [a, b, c, d] = address.octets();
        let (last_three, last_two) = (u32::from_be_bytes([0, b, c, d]), u16::from_be_bytes([c, d]));
        for text in [
            format!("{address}"),
            format!("{address}."),
            format!("{bits}"),
            format!("0x{bits:x}"),
            format!("0{bits:o}"),
            format!("{a}.{last_three}"),
            format!("0x{a:x}.0{b:o}.{last_two}"),
            format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            format!("{a}.{b}.{c}.0x{d:X}"),
        ] {
            let url = http::target(&format!("https://{text}/")).expect("it is a URL");
            prop_assert_eq!(http::host_and_port(&url), Some((Host::Ipv4(address), 443)), "{}", text);
        }
        let mapped = format!("https://[::ffff:{address}]/");
        let (host, _) = http::host_and_port(&http::target(&mapped).expect("it is a URL")).expect("it has a host");
        let Host::Ipv6(read) = host else { panic!("{host} is no IPv6 address") };
        prop_assert_ne!(classify(read.into()), Class::Public);
    }
}

#[test]
fn digits_of_other_scripts_are_digits() {
    for text in ["１２７.０.０.１", "①②⑦.⓪.⓪.①", "127。0。0。1", "%31%32%37.0.0.1"] {
        let url = http::target(&format!("https://{text}/")).expect("it is a URL");
        let host = http::host_and_port(&url).expect("it has a host").0;
        assert_eq!(host, Host::<String>::Ipv4(Ipv4Addr::LOCALHOST), "{text}");
    }
}

#[test]
fn the_classes_are_told_apart() {
    for (address, class) in [
        ("1.1.1.1", Class::Public),
        ("93.184.215.14", Class::Public),
        ("2606:4700::1111", Class::Public),
        ("192.168.1.20", Class::Private),
        ("100.100.1.1", Class::Private),
        ("fd12::1", Class::Private),
        ("127.0.0.53", Class::Loopback),
        ("::1", Class::Loopback),
        ("169.254.169.254", Class::LinkLocal),
        ("fe80::1", Class::LinkLocal),
        ("224.0.0.251", Class::Multicast),
        ("::ffff:10.0.0.1", Class::Translated),
        ("64:ff9b::a00:1", Class::Translated),
        ("0.0.0.0", Class::Reserved),
        ("198.18.0.1", Class::Reserved),
        ("255.255.255.255", Class::Reserved),
    ] {
        assert_eq!(classify(address.parse().expect("an address")), class, "{address}");
    }
}
