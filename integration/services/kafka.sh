#!/usr/bin/env bash
# Runs one Kafka broker (KRaft, combined with its controller) on loopback.
#
#   kafka.sh install            only fills the cache
#   kafka.sh start DIR PORT     data, log and pid in DIR; the controller takes PORT+1
#   kafka.sh stop|status DIR
#
# The jars come from Maven once, into the cache. KAFKA_VERSION picks another
# version, KAFKA_HEAP another heap. A later start on the same DIR keeps its data.
#
# KAFKA_TLS_DIR, a directory with ca.pem and server.pem (key and certificate),
# adds two listeners: SASL over TLS on PORT+2 (PLAIN with the users of
# KAFKA_USERS, "name:password ..."; SCRAM with those made through the admin API)
# and mutual TLS on PORT+3. Then rights are checked: plain connections and
# KAFKA_SUPER (a list of names) may do everything, others what ACLs give them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"

version=${KAFKA_VERSION:-4.4.0}
lib=$CACHE/kafka-$version

fetch_jars() {
    mvn -q -B -f "$here/kafka-pom.xml" -Dkafka.version="$version" \
        org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory="$1" >&2
}

install() { install_once "$lib" fetch_jars; }

# properties DIR PORT: the broker's settings. Events of the past must not be
# deleted (log.retention.ms), and groups settle without the usual delays.
properties() {
    local dir=$1 port=$2 listeners
    listeners=PLAINTEXT://127.0.0.1:$port
    if [[ -n ${KAFKA_TLS_DIR:-} ]]; then
        listeners+=,SASL_SSL://127.0.0.1:$((port + 2)),SSL://127.0.0.1:$((port + 3))
    fi
    cat <<END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 1))
listeners=$listeners,CONTROLLER://127.0.0.1:$((port + 1))
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL
log.dirs=$dir/data
auto.create.topics.enable=false
log.retention.ms=-1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.consumer.min.heartbeat.interval.ms=500
group.consumer.heartbeat.interval.ms=500
group.consumer.min.session.timeout.ms=1000
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
END
    if [[ -n ${KAFKA_TLS_DIR:-} ]]; then secured; fi
}

secured() {
    local users='' pair name
    for pair in ${KAFKA_USERS:-}; do users+=" user_${pair%%:*}=\"${pair#*:}\""; done
    cat <<END
ssl.keystore.type=PEM
ssl.keystore.location=$KAFKA_TLS_DIR/server.pem
ssl.truststore.type=PEM
ssl.truststore.location=$KAFKA_TLS_DIR/ca.pem
listener.name.ssl.ssl.client.auth=required
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required$users;
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
END
    printf 'super.users=User:ANONYMOUS'
    for name in ${KAFKA_SUPER:-}; do printf ';User:%s' "$name"; done
    echo
}

start() {
    local dir=$1 port=$2 id
    port_free $((port + 1))
    properties "$dir" "$port" >"$dir/server.properties"
    cat >"$dir/log4j2.properties" <<END
rootLogger.level=info
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %p %m (%c{1})%n
END
    local java=("${JAVA_HOME:+$JAVA_HOME/bin/}java" -Xmx"${KAFKA_HEAP:-512m}" -XX:+UseSerialGC -XX:TieredStopAtLevel=1
        -Dlog4j2.configurationFile="$dir/log4j2.properties" -cp "$lib/*")
    if [[ ! -f $dir/data/meta.properties ]]; then
        id=$(head -c 16 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=')
        "${java[@]}" kafka.tools.StorageTool format --cluster-id="$id" \
            --config "$dir/server.properties" >"$dir/format.log" 2>&1 ||
            { tail -n 20 "$dir/format.log" >&2; die "could not format the storage"; }
    fi
    launch "$dir" "${java[@]}" kafka.Kafka "$dir/server.properties"
    wait_until "$dir" 120 grep -q 'Kafka Server started' "$dir/log"
    echo "127.0.0.1:$port"
}

main "$@"
