//! A program of its own that is asked over pipes, by the protocol in which tools are offered to agents.

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::model::CallToolRequestParams;
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceExt as _};

use crate::{Contestant, Plugin};

/// The server's program.
pub struct McpServers {
    executor: Arc<tokio::runtime::Runtime>,
    program: PathBuf,
}

/// One process.
pub struct Server {
    executor: Arc<tokio::runtime::Runtime>,
    service: RunningService<RoleClient, ()>,
}

impl McpServers {
    fn start(&self) -> Server {
        let service = self.executor.block_on(async {
            let process = TokioChildProcess::new(tokio::process::Command::new(&self.program)).expect("it starts");
            ().serve(process).await.expect("it speaks MCP")
        });
        let mut server = Server { executor: Arc::clone(&self.executor), service };
        assert_eq!(server.call("ready"), "ready");
        server
    }
}

impl Contestant for McpServers {
    type Plugin = Server;

    const NAME: &'static str = "MCP over stdio";

    fn prepare(_plugins: usize) -> Self {
        let executor = Arc::new(tokio::runtime::Runtime::new().expect("an executor"));
        // Beside whichever program of this package runs, or one folder up.
        let own = std::env::current_exe().expect("a program has a path");
        let places = own.ancestors().skip(1).take(2).map(|folder| folder.join("echo-server"));
        let program = places.into_iter().find(|path| path.is_file()).expect("cargo built the server");
        Self { executor, program }
    }

    fn load(&self, _number: usize) -> Server {
        self.start()
    }

    fn replace(&self, _number: usize, plugin: &mut Server) {
        let before = std::mem::replace(plugin, self.start());
        // An error says that it had ended by itself.
        drop(self.executor.block_on(before.service.cancel()));
    }
}

impl Plugin for Server {
    fn call(&mut self, text: &str) -> String {
        let mut arguments = serde_json::Map::new();
        arguments.insert("text".to_owned(), text.into());
        let request = CallToolRequestParams::new("echo").with_arguments(arguments);
        let result = self.executor.block_on(self.service.call_tool(request)).expect("it answers");
        result.content[0].as_text().expect("it is a text").text.clone()
    }
}
