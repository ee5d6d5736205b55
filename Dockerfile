# The command `weir` in a small image:
#
#     docker build -t weir .
#     docker run --rm -v "$PWD:/data" weir run path.toml
#     docker run --rm -v "$PWD/reports:/data/reports" weir reproduce
#
# `weir testbed` and `emulate` need the capability NET_ADMIN: docker run --cap-add NET_ADMIN …
FROM debian:trixie-slim AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential ca-certificates curl git \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
ENV CARGO_HOME=/opt/cargo RUSTUP_HOME=/opt/rustup PATH="/opt/cargo/bin:$PATH"
COPY Cargo.toml ./
# The compiler that Cargo.toml asks for. It is kept as a layer while only sources change.
RUN version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) \
    && curl --proto '=https' --tlsv1.2 --fail --silent --show-error https://sh.rustup.rs \
    | sh -s -- -y --profile minimal --default-toolchain "$version"
COPY . .
RUN cargo build --release --locked && target/release/weir --version

FROM debian:trixie-slim
# What `testbed` and `emulate` call.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends iproute2 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/target/release/weir /usr/local/bin/weir
WORKDIR /data
ENTRYPOINT ["weir"]
CMD ["--help"]
