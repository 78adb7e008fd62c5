# Sourced by the scripts beside it and by tests/interop: where things are kept, which JDK runs them.
# shellcheck shell=bash

ORACLE_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
KAFKA_VERSION=4.4.0
DOHLE_CACHE="${DOHLE_CACHE:-$HOME/.cache/dohle}"
KAFKA_HOME="$DOHLE_CACHE/kafka-$KAFKA_VERSION"
KAFKA_LIBS="$KAFKA_HOME/libs"

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

java_major() { # java_major JAVA_BINARY: prints 17 for 17.0.15 and 8 for 1.8.0
    local version
    version="$("$1" -version 2>&1 | sed -n 's/.*version "\([0-9][0-9.]*\).*/\1/p' | head -n 1)"
    version="${version#1.}"
    printf '%s' "${version%%.*}"
}

# Prints the home of the newest JDK (with a compiler) of version 17 or later. JAVA_HOME wins when it fits.
find_jdk() {
    local candidate major best='' best_major=16
    local candidates=()
    if [[ -n "${JAVA_HOME:-}" && -x "$JAVA_HOME/bin/javac" ]]; then
        major="$(java_major "$JAVA_HOME/bin/java")"
        if [[ "${major:-0}" -ge 17 ]]; then
            printf '%s' "$JAVA_HOME"
            return
        fi
    fi
    candidates=(/usr/lib/jvm/* /opt/java/* /opt/*jdk*)
    if command -v javac >/dev/null; then
        candidates+=("$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")")
    fi
    for candidate in "${candidates[@]}"; do
        [[ -x "$candidate/bin/java" && -x "$candidate/bin/javac" ]] || continue
        major="$(java_major "$candidate/bin/java")"
        if [[ "${major:-0}" -gt "$best_major" ]]; then
            best="$candidate"
            best_major="$major"
        fi
    done
    [[ -n "$best" ]] || die "no JDK 17 or later found; Apache Kafka $KAFKA_VERSION needs one with javac.
  Looked at JAVA_HOME, /usr/lib/jvm, /opt and the PATH. On Debian: apt-get install openjdk-17-jdk-headless"
    printf '%s' "$best"
}

# Sets JDK and JAVA_FLAGS (an array). Finding a JDK starts one JVM for each candidate, so the answer is kept.
choose_java() {
    [[ -n "${JDK:-}" ]] && return
    local answer="$KAFKA_HOME/jdk"
    if [[ -z "${JAVA_HOME:-}" && -s "$answer" && -x "$(cut -d' ' -f2 "$answer")/bin/javac" ]]; then
        read -r JDK_MAJOR JDK <"$answer"
    else
        JDK="$(find_jdk)"
        JDK_MAJOR="$(java_major "$JDK/bin/java")"
        if [[ -z "${JAVA_HOME:-}" ]]; then
            mkdir -p "$KAFKA_HOME"
            printf '%s %s\n' "$JDK_MAJOR" "$JDK" >"$answer.$$"
            mv -f "$answer.$$" "$answer"
        fi
    fi
    # Tools live for a second or two: a small heap, the plain collector, only the quick compiler.
    JAVA_FLAGS=(-XX:+UseSerialGC -Xshare:auto -Djava.net.preferIPv4Stack=true
        -Dorg.slf4j.simpleLogger.defaultLogLevel="${KAFKA_LOG_LEVEL:-warn}"
        -Dorg.slf4j.simpleLogger.showDateTime=true)
    if [[ "$JDK_MAJOR" -ge 24 ]]; then
        JAVA_FLAGS+=(--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow)
    fi
}

# Fails unless tests/oracle/install has been run with the pom as it is now.
need_kafka() {
    [[ -f "$KAFKA_LIBS/.complete" ]] && cmp -s "$ORACLE_DIR/pom.xml" "$KAFKA_LIBS/.complete" ||
        "$ORACLE_DIR/install"
    choose_java
}
