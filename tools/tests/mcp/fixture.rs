// SPDX-License-Identifier: MIT OR Apache-2.0

//! A server over standard input and output. Arguments: `--log FILE`, `--fail-once FILE`, `--deaf`.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod handler;

use std::path::PathBuf;

use rmcp::ServiceExt;

fn main() {
    let mut log: Option<PathBuf> = None;
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        match arg.to_str().unwrap() {
            "--log" => log = args.next().map(PathBuf::from),
            // Ends at once the first time, as a driver does whose device is not there yet.
            "--fail-once" => {
                let path = PathBuf::from(args.next().unwrap());
                if !path.exists() {
                    std::fs::write(path, "").unwrap();
                    std::process::exit(4);
                }
            }
            // Is there, and says nothing.
            "--deaf" => std::thread::sleep(std::time::Duration::from_secs(300)),
            other => panic!("unknown argument {other}"),
        }
    }
    // What a driver says while it starts belongs on standard error; many print it all the same.
    #[expect(clippy::print_stdout, reason = "a server that prints is what is tested")]
    {
        println!("fixture is starting");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let service = handler::Fixture::new(log).serve(rmcp::transport::stdio()).await.unwrap();
        service.waiting().await.unwrap();
    });
    std::process::exit(0);
}
