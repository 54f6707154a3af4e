//! A part of the host made of closures.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use homeagent_types::ports::Toolbox;
use homeagent_types::{CallError, Cause, ToolDefinition, ToolOutput};
use serde_json::Value;

type Run = Arc<dyn Fn(Value, Cause) -> BoxFuture<'static, Result<ToolOutput, CallError>> + Send + Sync>;

#[derive(Default)]
pub(crate) struct FakeToolbox {
    tools: Vec<(ToolDefinition, Run)>,
}

impl FakeToolbox {
    pub(crate) fn with<F, R>(mut self, tool: ToolDefinition, run: F) -> Self
    where
        F: Fn(Value, Cause) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, CallError>> + Send + 'static,
    {
        self.tools.push((tool, Arc::new(move |args, cause| Box::pin(run(args, cause)))));
        self
    }
}

#[async_trait]
impl Toolbox for FakeToolbox {
    fn name(&self) -> &str {
        "cupboard"
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        self.tools.iter().map(|(tool, _)| tool.clone()).collect()
    }

    async fn call(&self, name: &str, arguments: Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        let found = self.tools.iter().find(|(tool, _)| tool.name == name);
        let run = found.map(|(_, run)| Arc::clone(run)).ok_or_else(|| CallError::NotFound(name.to_owned()))?;
        run(arguments, cause.clone()).await
    }
}
