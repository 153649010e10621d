//! The program.
fn main() {
    let config = parley::config::Config::load(None, std::env::vars(), &[]).expect("config");
    actix_web::rt::System::new().block_on(async move {
        let server = parley::serve(&config).await.expect("serve");
        println!("http://{}", server.addr);
        server.run_until(async { let _ = actix_web::rt::signal::ctrl_c().await; }).await.expect("run");
    });
}
