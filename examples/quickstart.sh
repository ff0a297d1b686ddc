#!/bin/sh
# Three nodes from nothing to a failover and a snapshot, judged at the end. `make demo`
# builds what it needs and runs it; it takes about half a minute, leaves its files in
# out/demo, and no process behind.
set -eu
cd "$(dirname "$0")/.."
dir=out/demo
kraftd=bin/kraftd configs=bin/configs quorate=bin/quorate

say() { printf '\n== %s\n' "$*"; }
fail() { echo "quickstart: $*" >&2; exit 1; }
for program in $kraftd $configs $quorate; do
	[ -x "$program" ] || fail "$program is missing: make demo builds it"
done

pid1='' pid2='' pid3=''
stop() {
	for i in 1 2 3; do eval "pid=\$pid$i"; [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || :; done
}
trap stop EXIT
trap 'exit 1' INT TERM

rm -rf "$dir"
mkdir -p "$dir/traces"
set -- $($configs free 3)
port1=$1 port2=$2 port3=$3
voters="1@127.0.0.1:$1,2@127.0.0.1:$2,3@127.0.0.1:$3"
all="127.0.0.1:$1,127.0.0.1:$2,127.0.0.1:$3"

say "three nodes are formatted"
id=$($kraftd random-uuid)
for i in 1 2 3; do
	eval "port=\$port$i"
	# Snapshots after a few kilobytes, so that there is something to see.
	cat > "$dir/node$i.properties" <<END
node.id=$i
process.roles=controller
controller.listener.names=CONTROLLER
listeners=CONTROLLER://127.0.0.1:$port
controller.quorum.voters=$voters
log.dirs=$dir/data$i
controller.quorum.append.linger.ms=0
metadata.log.max.record.bytes.between.snapshots=8000
metadata.max.retention.bytes=8000
quorate.trace.file=$dir/traces/node-$i.ndjson
END
	$kraftd format -config "$dir/node$i.properties" -cluster-id "$id"
done

start() {
	$kraftd start -config "$dir/node$1.properties" >> "$dir/node$1.out" 2>> "$dir/node$1.log" &
	eval "pid$1=$!"
}
# describe prints what the leader says; it waits for one.
describe() { $kraftd quorum describe "$@" -timeout 20s -bootstrap-controller "$all"; }
leader() { describe -status | awk '/^LeaderId/ { print $2 }'; }
# end SIGNAL NODE
end() {
	eval "pid=\$pid$2"
	kill "-$1" "$pid"
	wait "$pid" 2>/dev/null || :
	eval "pid$2=''"
}
latest() { ls "$dir/data$1/__cluster_metadata-0" 2> /dev/null | grep '\.checkpoint$' | tail -1; }
# await WHAT COMMAND...: until the command succeeds
await() {
	what=$1; shift
	n=0
	until "$@"; do
		n=$((n + 1))
		[ $n -lt 200 ] || fail "$what: not within 20 seconds (see $dir/*.log)"
		sleep 0.1
	done
}

say "they elect a leader"
for i in 1 2 3; do start $i; done
quiet() { "$@" > /dev/null 2>&1; }
await "a leader" quiet describe -status
describe -status

say "configurations are set and read with kadm"
$configs -bootstrap "$all" set orders retention.ms 86400000
$configs -bootstrap "$all" set orders cleanup.policy compact
$configs -bootstrap "$all" get orders

old=$(leader)
say "node $old leads, and is killed with -9"
end 9 "$old"
describe -status
new=$(leader)
[ "$new" != "$old" ] || fail "node $old still leads"
$configs -bootstrap "$all" get orders
start "$old"

say "with more records there are snapshots, and the log no longer starts at 0"
$configs -bootstrap "$all" fill orders 300
leads=$(leader)
snapshot_there() { [ -n "$(latest "$1")" ] && [ -s "$dir/data$1/__cluster_metadata-0/log-start" ]; }
await "snapshot of node $leads" snapshot_there "$leads"
$kraftd dump -print-data-log -skip-record-metadata "$dir/data$leads/__cluster_metadata-0/$(latest "$leads")" | grep CONFIG_RECORD

lost=$((leads % 3 + 1))
say "node $lost is killed, and its log, snapshots and vote are wiped"
end 9 "$lost"
rm -rf "$dir/data$lost/__cluster_metadata-0"
start "$lost"
await "snapshot of node $lost" snapshot_there "$lost"
grep -o '"action":"InstallSnapshot"' "$dir/traces/node-$lost.ndjson" | head -1
caught_up() { describe -replication | awk -v id="$1" '$1 == id && $4 == 0 { found = 1 } END { exit !found }'; }
await "node $lost" caught_up "$lost"
describe -replication -human-readable

say "all stop"
for i in 1 2 3; do end TERM $i; done

say "what they did is held against the specification"
# That a disk was lost is no event of anybody's: it is the one hidden step.
$quorate trace check -hidden 1 "$dir/traces"/node-*.ndjson
echo accepted
