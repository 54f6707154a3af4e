//! Media over the API, and the file route.

use homeagent_media::Reader;
use hyper::Method;
use serde_json::json;

use crate::house::House;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

async fn put(house: &House, bytes: &'static [u8]) -> String {
    let answer = house.remote(Method::POST, "/api/v1/media", bytes).await.ok();
    answer["address"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_is_handed_over_is_listed_served_and_removed() {
    let house = House::open().await;
    let answer = house.remote(Method::POST, "/api/v1/media", PNG).await.ok();
    assert_eq!((&answer["mime"], &answer["bytes"]), (&json!("image/png"), &json!(PNG.len())));
    let address = put(&house, PNG).await;
    let listed = house.local(Method::GET, "/api/v1/media", "").await.ok();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["address"]), (1, &json!(address)));
    let served = house.remote(Method::GET, &format!("/media/{}", &address[..16]), "").await;
    assert_eq!((served.status.as_u16(), served.header("content-type")), (200, "image/png"));
    assert_eq!(served.header("x-content-type-options"), "nosniff");
    assert_eq!(served.header("content-security-policy"), "default-src 'none'; sandbox");
    let removed = house.remote(Method::DELETE, &format!("/api/v1/media/{address}"), "").await.ok();
    assert_eq!(removed["removed"], address);
    house.remote(Method::GET, &format!("/media/{address}"), "").await.problem(404);
}

#[tokio::test]
async fn a_page_that_somebody_sent_is_served_as_text() {
    let house = House::open().await;
    let address = put(&house, b"<html><script>alert(1)</script>").await;
    let served = house.remote(Method::GET, &format!("/media/{address}"), "").await;
    assert_eq!(served.header("content-type"), "text/plain; charset=utf-8");
}

#[tokio::test]
async fn the_file_route_opens_to_the_token_and_to_links_alone() {
    let house = House::open().await;
    let (one, other) = (put(&house, PNG).await, put(&house, b"another").await);
    let link = house.media.link(&one.parse().unwrap(), Reader::Here).unwrap();
    let base = format!("http://{}", house.gateway.addr());
    let path = link.strip_prefix(&base).unwrap();
    // Whatever the way there calls the daemon.
    for host in [house.gateway.addr().to_string(), "home.example".to_owned()] {
        let served = house.bare(Method::GET, path, &[("host", host.as_str())], "").await;
        assert_eq!((served.status.as_u16(), served.header("content-type")), (200, "image/png"));
    }
    let host = house.gateway.addr().to_string();
    let query = path.split_once('?').unwrap().1;
    for closed in [
        format!("/media/{one}"),
        format!("/media/{other}?{query}"),
        format!("/media/{}?{query}", &one[..16]),
        format!("/media/{one}?{}", query.replace("until=", "until=9")),
        format!("/media/{one}?until=1&mac="),
        "/media/".to_owned(),
        "/media".to_owned(),
        format!("/api/v1/media?{query}"),
        format!("/api/v1/media/{one}?{query}"),
    ] {
        let answer = house.bare(Method::GET, &closed, &[("host", host.as_str())], "").await;
        assert_eq!(answer.status.as_u16(), 401, "{closed}");
    }
    house.bare(Method::DELETE, path, &[("host", host.as_str())], "").await.problem(401);
    house.remote(Method::GET, "/media/", "").await.problem(404);
}

#[tokio::test]
async fn a_client_that_has_it_does_not_get_it_again() {
    let house = House::open().await;
    let path = format!("/media/{}", put(&house, PNG).await);
    let tag = house.remote(Method::GET, &path, "").await.header("etag").to_owned();
    let again = house.remote_with(Method::GET, &path, &[("if-none-match", tag.as_str())], "").await;
    assert_eq!((again.status.as_u16(), again.body.len()), (304, 0));
}

#[tokio::test]
async fn what_is_too_large_or_empty_is_refused() {
    let house = House::open().await;
    house.settings.set("core.media.file_mib", 1).unwrap();
    house.remote(Method::POST, "/api/v1/media", vec![0; (1 << 20) + 1]).await.problem(413);
    house.remote(Method::POST, "/api/v1/media", "").await.problem(422);
}

#[tokio::test]
async fn attachments_go_along_with_what_is_said() {
    let house = House::open().await;
    let address = put(&house, PNG).await;
    let said = json!({ "text": "look", "media": [{ "address": &address[..16], "name": "cat.png" }] });
    house.remote(Method::POST, "/api/v1/chat", said.to_string()).await.ok();
    let asked = house.turns.asked.lock().unwrap().pop().unwrap();
    assert_eq!((asked.media.len(), asked.media[0].mime.as_str()), (1, "image/png"));
    assert_eq!(asked.media[0].source, homeagent_types::MediaSource::Stored(address));
    let said = json!({ "text": "look", "media": [{ "address": "0000000000000000" }] });
    house.remote(Method::POST, "/api/v1/chat", said.to_string()).await.problem(422);
}
