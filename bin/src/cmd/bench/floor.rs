//! `dohle bench floor`: what this machine could do at most, measured by bare loops.
//!
//! A broker cannot take a gigabyte in for less CPU time than a loop that receives, checks and
//! writes it, nor hand it out for less than a loop around `sendfile`, nor answer a request of one
//! record for less than a loop that receives, checks, writes and answers it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::time::ClockId;
use serde_json::{Value, json};

use super::latency::{Latency, spoken};
use super::summary::{cpu, rounded};
use crate::cmd::client::say;
use crate::cmd::cluster::Failure;

/// What is received, checked and written at a time.
const PIECE: usize = 1 << 20;
/// Bytes of one synced append, and of a message that goes around.
const SMALL: usize = 1024;
const APPENDS: u64 = 500;
const ROUND_TRIPS: u64 = 20_000;
/// Bytes of a Produce request of one record of 100 bytes, of what of it is stored, of its answer.
const REQUEST: usize = 250;
const STORED: usize = 170;
const ANSWER: usize = 60;
/// Connections that send such requests, and how many each sends, one after another.
const CONNECTIONS: usize = 50;
const REQUESTS: usize = 2_000;

/// Measure the physical limits of this machine, without a broker.
///
/// CPU time is that of the thread in the broker's place, user and system.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Where a file may be written; on the file system that is meant.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Megabytes that are received, and sent.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    megabytes: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A file without a name: it goes with this process, however that ends.
fn scratch(dir: &Path) -> io::Result<File> {
    let path = dir.join(format!(".dohle-bench-{}", std::process::id()));
    let file = File::options().create(true).truncate(true).read(true).write(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("{}: {error}", args.dir.display()));
    let file = scratch(&args.dir).map_err(failed)?;
    let bytes = (args.megabytes * 1_000_000).next_multiple_of(PIECE as u64);
    let found = measure(&file, bytes).map_err(failed)?;
    if args.json {
        return say(true, "", &found);
    }
    let of = |name: &str| found[name].as_f64().unwrap_or(0.0);
    println!("receive, CRC-32C, append: {:.3} CPU s a GB", of("receive_cpu_s_gb"));
    println!("sendfile:                 {:.3} CPU s a GB", of("sendfile_cpu_s_gb"));
    println!("a request of one record:  {:.3} CPU µs", of("request_cpu_us"));
    println!("append and fdatasync:     {}", spoken(&found["append_sync_ms"]));
    println!("loopback round trip:      {}", spoken(&found["round_trip_ms"]));
    Ok(())
}

fn measure(file: &File, bytes: u64) -> io::Result<Value> {
    Ok(json!({
        "bytes": bytes,
        "receive_cpu_s_gb": per_gb(receive(file, bytes)?, bytes),
        "sendfile_cpu_s_gb": per_gb(send(file, bytes)?, bytes),
        "request_cpu_us": per_request(requests(file)?),
        "append_sync_ms": append_and_sync(file)?.json(),
        "round_trip_ms": round_trips()?.json(),
    }))
}

fn per_gb(cpu: Duration, bytes: u64) -> f64 {
    rounded(cpu.as_secs_f64() * 1e9 / bytes as f64)
}

fn per_request(cpu: Duration) -> f64 {
    rounded(cpu.as_secs_f64() * 1e6 / (CONNECTIONS * REQUESTS) as f64)
}

/// Two ends of a connection over loopback.
fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let one = TcpStream::connect(listener.local_addr()?)?;
    let (other, _) = listener.accept()?;
    one.set_nodelay(true)?;
    other.set_nodelay(true)?;
    Ok((one, other))
}

/// Runs `peer` on a thread of its own, and what stands in the broker's place here: its CPU time.
fn beside<P>(peer: P, here: impl FnOnce() -> io::Result<()>) -> io::Result<Duration>
where
    P: FnOnce() -> io::Result<()> + Send,
{
    std::thread::scope(|scope| {
        let peer = scope.spawn(peer);
        let before = cpu(ClockId::ThreadCPUTime);
        here()?;
        let took = cpu(ClockId::ThreadCPUTime) - before;
        peer.join().map_err(|_| io::Error::other("the other end ended early"))??;
        Ok(took)
    })
}

/// Receives so many bytes, takes their checksum and appends them to the file.
fn receive(file: &File, bytes: u64) -> io::Result<Duration> {
    let (mut client, mut server) = pair()?;
    let peer = move || {
        let piece = vec![b'x'; PIECE];
        (0..bytes / PIECE as u64).try_for_each(|_| client.write_all(&piece))
    };
    beside(peer, move || {
        let (mut buffer, mut at, mut sum) = (vec![0; PIECE], 0, 0u32);
        while at < bytes {
            server.read_exact(&mut buffer)?;
            sum ^= crc32c::crc32c(&buffer);
            file.write_all_at(&buffer, at)?;
            at += PIECE as u64;
        }
        std::hint::black_box(sum);
        Ok(())
    })
}

/// Sends so many bytes of the file, which are in the page cache.
fn send(file: &File, bytes: u64) -> io::Result<Duration> {
    let (mut client, server) = pair()?;
    let peer = move || {
        let (mut buffer, mut left) = (vec![0; PIECE], bytes);
        while left > 0 {
            match client.read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => left -= count as u64,
            }
        }
        Ok(())
    };
    beside(peer, move || {
        let mut at = 0;
        while at < bytes {
            let left = usize::try_from(bytes - at).unwrap_or(PIECE).min(PIECE);
            rustix::fs::sendfile(&server, file, Some(&mut at), left)?;
        }
        Ok(())
    })
}

/// Answers requests of one record from connections that each wait for an answer before the next.
fn requests(file: &File) -> io::Result<Duration> {
    let pairs: Vec<_> = (0..CONNECTIONS).map(|_| pair()).collect::<io::Result<_>>()?;
    let (clients, servers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    beside(move || ask_from_each(clients), move || answer_all(file, servers))
}

fn ask_from_each(clients: Vec<TcpStream>) -> io::Result<()> {
    let ask = |mut client: TcpStream| {
        let mut answer = [0; ANSWER];
        (0..REQUESTS).try_for_each(|_| {
            client.write_all(&[b'x'; REQUEST])?;
            client.read_exact(&mut answer)
        })
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = clients.into_iter().map(|one| scope.spawn(move || ask(one))).collect();
        let early = |_| io::Error::other("a client ended early");
        all.into_iter().try_for_each(|one| one.join().map_err(early)?)
    })
}

fn answer_all(file: &File, mut servers: Vec<TcpStream>) -> io::Result<()> {
    let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (server, number) in servers.iter().zip(0..) {
        epoll::add(&ready, server, epoll::EventData::new_u64(number), epoll::EventFlags::IN)?;
    }
    let (mut events, mut request) = (Vec::with_capacity(CONNECTIONS), [0; REQUEST]);
    let (mut at, mut answered, mut sum) = (file.metadata()?.len(), 0, 0u32);
    while answered < CONNECTIONS * REQUESTS {
        epoll::wait(&ready, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in events.drain(..) {
            let server = &mut servers[usize::try_from(event.data.u64()).unwrap_or(0)];
            let begun = server.read(&mut request)?;
            if begun == 0 {
                epoll::delete(&ready, server)?;
                continue;
            }
            server.read_exact(&mut request[begun..])?;
            sum ^= crc32c::crc32c(&request);
            file.write_all_at(&request[..STORED], at)?;
            server.write_all(&request[..ANSWER])?;
            (at, answered) = (at + STORED as u64, answered + 1);
        }
    }
    std::hint::black_box(sum);
    Ok(())
}

fn append_and_sync(file: &File) -> io::Result<Latency> {
    let (times, piece) = (Latency::new(), [b'x'; SMALL]);
    let end = file.metadata()?.len();
    for turn in 0..APPENDS {
        let began = Instant::now();
        file.write_all_at(&piece, end + turn * SMALL as u64)?;
        file.sync_data()?;
        times.note(began.elapsed());
    }
    Ok(times)
}

fn round_trips() -> io::Result<Latency> {
    let (times, (mut client, mut server)) = (Latency::new(), pair()?);
    beside(
        || {
            let mut message = [0; SMALL];
            for _ in 0..ROUND_TRIPS {
                let began = Instant::now();
                client.write_all(&message)?;
                client.read_exact(&mut message)?;
                times.note(began.elapsed());
            }
            Ok(())
        },
        || {
            let mut message = [0; SMALL];
            for _ in 0..ROUND_TRIPS {
                server.read_exact(&mut message)?;
                server.write_all(&message)?;
            }
            Ok(())
        },
    )?;
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_measured() {
        let dir = std::env::temp_dir().join(format!("dohle-floor-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let file = scratch(&dir).expect("a file");
        // An empty folder: whatever ends the measurement leaves nothing behind.
        std::fs::remove_dir(&dir).expect("nothing is in it");
        let found = measure(&file, 4 * PIECE as u64).expect("measured");
        for name in ["receive_cpu_s_gb", "sendfile_cpu_s_gb", "request_cpu_us"] {
            assert!(found[name].as_f64().is_some_and(|cpu| cpu > 0.0), "{name}: {found}");
        }
        for name in ["append_sync_ms", "round_trip_ms"] {
            assert!(found[name]["p50"].as_f64().is_some_and(|ms| ms > 0.0), "{name}: {found}");
        }
    }
}
