package bootstrap

import "fmt"

// Files are the sources that a controller has been formatted with.
type Files struct {
	Legacy Content
	Zero   ZeroFile
}

// Model is a box in which the protocol is explored to the end.
type Model struct {
	Name, Why   string
	Controllers int
	Epochs      int
	// Stand, if not nil, has for each epoch from 1 who may stand in it, bit by bit.
	Stand []uint8
	// Transactions: the bootstrap's metadata.version allows them. Dynamic: the voters are
	// in the log.
	Transactions, Dynamic bool
	// Files has for each initial state what the controllers have; the last stands for those
	// after it. All are formatted, unless Runs says how often format may be begun.
	Files [][]Files
	Runs  uint8
	// OldSoftware: everybody begins with software before KIP-1170; Upgrades: and may come
	// back with software of it.
	OldSoftware, Upgrades bool
	// Budgets: losses of power, ordinary records, snapshots and runs of format over a
	// directory that was in use, which Wipes says are preceded by the removal of all that is
	// in it.
	Crashes, Others, Snapshots, Reformats uint8
	Wipes                                 bool
	// LazyStandbys replay nothing until they lead.
	LazyStandbys bool
	// Deletions: both files may be deleted when rules allow.
	Deletions bool
	Deep      bool
	Unsafe    string
}

func (m *Model) constants() string {
	s := fmt.Sprintf("%d controllers, epochs %d", m.Controllers, m.Epochs)
	if m.Controllers == 1 {
		s = fmt.Sprintf("1 controller, epochs %d", m.Epochs)
	}
	if m.Stand != nil {
		s += " by"
		for _, who := range m.Stand {
			s += " {"
			for i := range m.Controllers {
				if who>>i&1 == 1 {
					s += name(i)
				}
			}
			s += "}"
		}
	}
	add := func(ok bool, text string) {
		if ok {
			s += ", " + text
		}
	}
	add(m.Transactions, "transactions")
	add(!m.Transactions, "one batch")
	add(m.Dynamic, "dynamic quorum")
	add(len(m.Files) > 1, fmt.Sprintf("%d sets of files", len(m.Files)))
	for _, b := range []struct {
		n    uint8
		name string
	}{{m.Runs, "runs of format"}, {m.Crashes, "crashes"}, {m.Others, "ordinary records"}, {m.Snapshots, "snapshots"}, {m.Reformats, "reformats"}} {
		add(b.n > 0, fmt.Sprintf("%s %d", b.name, b.n))
	}
	add(m.LazyStandbys, "standbys replay when they lead")
	add(m.Deletions, "files deleted")
	add(m.OldSoftware && !m.Upgrades, "software before KIP-1170")
	add(m.Upgrades, "software upgraded")
	return s
}

const (
	justA = 1 << iota
	justB
	justC
	aOrC = justA | justC
)

// fresh is what format of KIP-1170 leaves, legacy and mature what software before it does
// for a static and a dynamic quorum.
var (
	fresh  = Files{Zero: ZeroWith(OfZero)}
	legacy = Files{Legacy: OfLegacy}
	mature = Files{Legacy: OfLegacy, Zero: ControlOnly}
	both   = Files{Legacy: OfLegacy, Zero: ZeroWith(OfZero)}
	none   = Files{}
	bare   = Files{Zero: ControlOnly}
)

// Models are all models.
var Models = []Model{
	{
		Name: "bootstrap-format", Why: "each disk step of format, power lost at any of them, format again, start and activate",
		Controllers: 1, Epochs: 2, Transactions: true, Dynamic: true, Files: [][]Files{{none}}, Runs: 3, Crashes: 3,
	},
	{
		Name: "bootstrap-cases", Why: "all six cells of the table, power lost at each point of activation, four epochs",
		Controllers: 1, Epochs: 4, Transactions: true, Dynamic: true, Crashes: 3, Others: 1,
		Files: [][]Files{{legacy}, {mature}, {fresh}, {both}, {none}, {bare}, {{Legacy: Ancient}}, {{Legacy: Ancient, Zero: ZeroWith(OfZero)}}},
	},
	{
		Name: "bootstrap-cases-atomic", Why: "all six cells, without transactions",
		Controllers: 1, Epochs: 3, Crashes: 3, Others: 1,
		Files: [][]Files{{legacy}, {mature}, {fresh}, {both}, {none}, {bare}, {{Legacy: Ancient}}},
	},
	{
		Name: "bootstrap-failover", Why: "failover at each point of a bootstrap transaction: A, C, A, C lead",
		Controllers: 3, Epochs: 4, Stand: []uint8{justA, justC, justA, justC}, Transactions: true, Dynamic: true, LazyStandbys: true,
		Files: [][]Files{{fresh}},
	},
	{
		Name: "bootstrap-failover-atomic", Why: "failover at each point of an atomic bootstrap: anybody leads",
		Controllers: 3, Epochs: 3, Others: 1, Files: [][]Files{{fresh}},
	},
	{
		Name: "bootstrap-mixed", Why: "controllers formatted by different software: whoever leads first decides",
		Controllers: 3, Epochs: 3, Stand: []uint8{justA, aOrC, justC}, Transactions: true, LazyStandbys: true, Files: [][]Files{{legacy, both, none}, {fresh, none, mature}},
	},
	{
		Name: "bootstrap-queue", Why: "clients that write as soon as they may",
		Controllers: 3, Epochs: 2, Stand: []uint8{justA, justC}, Transactions: true, Others: 1, LazyStandbys: true, Files: [][]Files{{fresh}},
	},
	{
		Name: "bootstrap-retention", Why: "snapshots of leaders, their installation, and the deletion of both files",
		Controllers: 3, Epochs: 2, Stand: []uint8{justA, justC}, Transactions: true, Snapshots: 1, Deletions: true, LazyStandbys: true,
		Files: [][]Files{{both, fresh, mature}},
	},
	{
		Name: "bootstrap-retention-one", Why: "snapshots and deletions of a quorum of one, over several crashes",
		Controllers: 1, Epochs: 3, Transactions: true, Snapshots: 2, Deletions: true, Crashes: 3, Others: 1,
		Files: [][]Files{{both}, {fresh}, {mature}, {legacy}, {{Legacy: Ancient, Zero: ZeroWith(OfZero)}}},
	},
	{
		Name: "bootstrap-reformat", Why: "a directory that was in use is formatted again, its log left in place",
		Controllers: 1, Epochs: 4, Transactions: true, Snapshots: 1, Deletions: true, Crashes: 2, Reformats: 1,
		Files: [][]Files{{both}, {mature}, {fresh}},
	},
	{
		Name: "bootstrap-upgrade", Why: "directories of software before KIP-1170, upgraded at any restart",
		Controllers: 3, Epochs: 2, Stand: []uint8{justA, justC}, Transactions: true, Dynamic: true, Crashes: 1, LazyStandbys: true, OldSoftware: true, Upgrades: true,
		Files: [][]Files{{mature}},
	},
	{
		Name: "bootstrap-upgrade-one", Why: "the same of a quorum of one, over four epochs, with snapshots, and with a file that only the old software can use",
		Controllers: 1, Epochs: 4, Transactions: true, Dynamic: true, Crashes: 3, Snapshots: 1, OldSoftware: true, Upgrades: true,
		Files: [][]Files{{mature}, {legacy}, {none}, {{Legacy: Ancient, Zero: ControlOnly}}},
	},
	{
		Name: "bootstrap-old-software", Why: "software before KIP-1170 on a directory that is formatted for it takes the zero checkpoint for committed",
		Controllers: 3, Epochs: 2, Stand: []uint8{justA, justC}, Transactions: true, OldSoftware: true, Files: [][]Files{{fresh}},
		Unsafe: "NoUncommittedReplay",
	},
	{
		Name: "bootstrap-wiped", Why: "a voter whose directory is removed and formatted again has forgotten what it acknowledged",
		Controllers: 3, Epochs: 2, Stand: []uint8{justA, justC}, Crashes: 1, Reformats: 1, Wipes: true, Files: [][]Files{{fresh}},
		Unsafe: "CommittedStable",
	},
	{
		Name: "bootstrap-failover-any", Why: "failover at each point of a bootstrap transaction: anybody leads",
		Controllers: 3, Epochs: 3, Transactions: true, Dynamic: true, LazyStandbys: true, Files: [][]Files{{fresh}},
	},
	{
		Name: "bootstrap-failover-four", Why: "the same over four epochs",
		Controllers: 3, Epochs: 4, Transactions: true, Dynamic: true, LazyStandbys: true, Files: [][]Files{{fresh}}, Deep: true,
	},
	{
		Name: "bootstrap-failover-crashes", Why: "failover with snapshots, deletions and a crash",
		Controllers: 3, Epochs: 3, Stand: []uint8{justA, justC, justA}, Transactions: true, Crashes: 1, Snapshots: 1, Deletions: true, LazyStandbys: true,
		Files: [][]Files{{both, fresh, mature}}, Deep: true,
	},
}
