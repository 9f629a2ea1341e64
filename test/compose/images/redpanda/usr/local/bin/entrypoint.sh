#!/bin/sh
# Apache Kafka behind the command line of Redpanda's image.
set -e
for argument; do
  case $argument in --advertise-kafka-addr=*) advertised=${argument#*=} ;; esac
done
data=/var/lib/redpanda/data
cat >/tmp/server.properties <<END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://0.0.0.0:9092,CONTROLLER://127.0.0.1:9093
advertised.listeners=PLAINTEXT://$advertised
log.dirs=$data/log
auto.create.topics.enable=false
message.max.bytes=67108864
replica.fetch.max.bytes=67108864
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
END
kafka() { exec java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '/kafka/*' "$@"; }
PATH=$PATH:/usr/lib/jvm/java-17-openjdk-amd64/bin
[ -e "$data/log/meta.properties" ] ||
  (kafka kafka.tools.StorageTool format --cluster-id bG9vcHRyYWNlLXRlc3RzLQ --config /tmp/server.properties)
kafka kafka.Kafka /tmp/server.properties
