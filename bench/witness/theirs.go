package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/quorate/quorate/bench/internal/peer"
)

// module is what is added to a public specification: bounds, and a line for each state
// within them. Their epochs are bounded from outside too, since kip_996 lets the bound of
// its own stop a replica from giving up.
const module = `---- MODULE Witness ----
EXTENDS kraft_%[1]s
Bound == Cardinality(net_messages) <= %[2]d /\ \A s \in StartedServers : current_epoch[s] <= %[3]d
Projection == [s \in StartedServers |->
    <<state[s], current_epoch[s], voted_for[s], [k \in DOMAIN log[s] |-> log[s][k].epoch]>>]
Emit == ~Bound \/ PrintT("P " \o ToString(Projection))
====
`

// values are the model values that each specification names.
var values = map[string]string{
	"kip_853": "Voter Observer Unattached Follower Candidate Leader Voted Resigned DeadNoState Nil AppendCommand InitClusterCommand AddVoterCommand RemoveVoterCommand LeaderChangeRecord RequestVoteRequest RequestVoteResponse BeginQuorumEpochRequest FetchRequest FetchResponse Ok NotOk Diverging FencedLeaderEpoch NotLeader UnknownLeader UnknownMember AlreadyMember ReconfigInProgress LeaderNotReady IllegalState EqualEpoch AnyEpoch v1",
	"kip_996": "Unattached Follower Prospective Candidate Leader Resigned DeadNoState Nil AppendCommand InitClusterCommand AddVoterCommand RemoveVoterCommand LeaderChangeRecord RequestVoteRequest RequestVoteResponse BeginQuorumEpochRequest FetchRequest FetchResponse Ok NotOk Diverging FencedLeaderEpoch NotLeader UnknownLeader InvalidRequest UnknownMember AlreadyMember ReconfigInProgress LeaderNotReady IllegalState EqualEpoch AnyEpoch v1",
}

// numbers are constants that nothing here needs: no crash, restart, client value or
// change of the voter set.
var numbers = map[string]string{
	"kip_853": "MaxRestarts=0 MaxCrashes=0 MaxValuesPerEpoch=0 MaxAddReconfigs=0 MaxRemoveReconfigs=0 MaxConnectivityChanges=0 MaxDisconnectedPairs=0 TestLiveness=FALSE",
	"kip_996": "MaxRestarts=0 MaxPermCrashes=0 MaxValuesPerEpoch=0 MaxAddReconfigs=0 MaxRemoveReconfigs=0 MaxConnectivityChanges=0 MaxDisconnectedPairs=0 TestLiveness=FALSE",
}

func (r *run) config() string {
	var b strings.Builder
	fmt.Fprintf(&b, "CONSTANTS\n %s", numbers[r.spec])
	if r.spec == "kip_996" {
		fmt.Fprintf(&b, " MaxDisruptiveElectionTriggers=%d", r.disruptive)
	}
	fmt.Fprintf(&b, "\n InitClusterSize=%[1]d MinClusterSize=%[1]d MaxClusterSize=%[1]d MaxSpawnedServers=%[1]d MaxEpoch=%[2]d Value={v1}\n", r.servers, r.maxEpoch())
	var hosts []string
	for i := range r.servers {
		hosts = append(hosts, fmt.Sprintf("h%d", i+1))
	}
	for _, v := range append(strings.Fields(values[r.spec]), hosts...) {
		fmt.Fprintf(&b, " %s=%s", v, v)
	}
	fmt.Fprintf(&b, "\n Hosts={%s}\nSPECIFICATION Spec\nCHECK_DEADLOCK FALSE\nINVARIANT Emit\n", strings.Join(hosts, ", "))
	if r.behaviours == 0 {
		b.WriteString("CONSTRAINT Bound\n")
	}
	return b.String()
}

// maxEpoch is their own bound on epochs: one more than is looked at in kip_996, whose
// ConcludePreVote asks for room also where it gives up.
func (r *run) maxEpoch() int {
	if r.spec == "kip_996" {
		return epochs + 1
	}
	return epochs
}

var emitted = regexp.MustCompile(`(?m)^"P (<<.*>>)"$`)

// theirs gives the projections of the states that TLC reaches.
func (r *run) theirs(ctx context.Context, tlc peer.TLC, specs, scratch string) (map[string]bool, error) {
	if err := peer.Clear(scratch); err != nil {
		return nil, err
	}
	sources, err := filepath.Glob(filepath.Join(specs, r.spec, "*.tla"))
	if err != nil || len(sources) == 0 {
		return nil, fmt.Errorf("no modules in %s: %v", filepath.Join(specs, r.spec), err)
	}
	for _, s := range sources {
		text, err := os.ReadFile(s)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(scratch, filepath.Base(s)), text, 0o644); err != nil {
			return nil, err
		}
	}
	main, config := filepath.Join(scratch, "Witness.tla"), filepath.Join(scratch, "Witness.cfg")
	if err := os.WriteFile(main, fmt.Appendf(nil, module, r.spec, r.inFlight, epochs), 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, []byte(r.config()), 0o644); err != nil {
		return nil, err
	}
	var out string
	if r.behaviours == 0 {
		res, err := tlc.Check(ctx, scratch, config, main)
		if err != nil {
			return nil, err
		}
		if res.Violated != "" {
			return nil, fmt.Errorf("TLC says that %s is violated", res.Violated)
		}
		r.note = fmt.Sprintf("TLC: all of %d states, %d generated, depth %d", res.Distinct, res.Generated, res.Depth)
		out = res.Output
	} else {
		res, err := tlc.Simulate(ctx, scratch, config, main, r.behaviours, length)
		if err != nil {
			return nil, err
		}
		r.note = fmt.Sprintf("TLC: %d random behaviours of up to %d steps", r.behaviours, length)
		out = res.Output
	}
	seen := map[string]bool{}
	for _, p := range emitted.FindAllStringSubmatch(out, -1) {
		seen[p[1]] = true
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("TLC told no state")
	}
	return seen, nil
}
