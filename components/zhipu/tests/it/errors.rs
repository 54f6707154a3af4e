use homeagent_adapters::testing::response;
use homeagent_sdk::adapter::{Adapter, FailureClass as Class};
use serde_json::json;
use zhipu::Zhipu;

#[test]
fn each_error_is_told_apart() {
    let cases = [
        (401, "1000", "身份验证失败", Class::Auth),
        (401, "1002", "Authorization Token 非法，请确认 Authorization Token 正确传递。", Class::Auth),
        (429, "1113", "您的账户已欠费，请充值后重试", Class::Unfunded),
        (429, "1302", "您当前使用该 API 的并发数过高，请降低并发", Class::RateLimited),
        (429, "1305", "当前 API 请求过多，请稍后重试", Class::RateLimited),
        (400, "1261", "Prompt 超长", Class::ContextOverflow),
        (400, "1301", "系统检测到输入或生成内容可能包含不安全或敏感内容", Class::ContentFilter),
        (400, "1211", "模型不存在，请检查模型代码", Class::BadRequest),
        (403, "1220", "您无权访问该 API，没有权限", Class::Permission),
        (500, "1230", "API 调用流程出错", Class::Overloaded),
        (504, "", "", Class::Timeout),
    ];
    for (status, code, message, class) in cases {
        let body = json!({"error": {"code": code, "message": message}});
        let failure = Zhipu::classify_error(response(status, &body.to_string()));
        assert_eq!(failure.class, class, "{status} {code} {message}");
    }
}
