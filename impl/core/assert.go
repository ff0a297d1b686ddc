package core

import "strconv"

// remembered inputs, for a failed assertion.
const remembered = 32

type memory struct {
	now     Ticks
	input   Input
	message Message
}

// remember keeps what the input said, but no pointer into it.
func (r *Replica) remember(in *Input) {
	m := &r.memory[r.inputs%remembered]
	r.inputs++
	m.now, m.input = r.now, *in
	if in.Message != nil {
		m.message = *in.Message
		m.message.Batches, m.message.Records, m.message.Preferred, m.message.Chunk = nil, nil, nil, nil
		m.input.Message = &m.message
	}
	m.input.Records, m.input.VoterSet = nil, nil
}

// assert stops the replica when an invariant is broken, always. It prints enough
// to replay the last inputs.
func (r *Replica) assert(cond bool, what string) {
	if !cond {
		panic("core: " + what + "\n" + r.describe())
	}
}

func (r *Replica) describe() string {
	b := append([]byte(nil), "replica "...)
	num := func(label string, n int64) {
		b = append(b, label...)
		b = strconv.AppendInt(b, n, 10)
	}
	num("", int64(r.cfg.ID))
	b = append(b, ' ')
	b = append(b, r.role.String()...)
	num(" epoch ", int64(r.epoch))
	num(" leader ", int64(r.leader))
	num(" voted ", int64(r.voted.ID))
	num(" log start ", int64(r.log.start))
	num(" log end ", int64(r.log.end))
	num(" flushed ", int64(r.log.flushed))
	num(" last epoch ", int64(r.log.lastEpoch()))
	num(" high watermark ", int64(r.hw))
	num(" highest known ", int64(r.hwFloor))
	for _, s := range r.log.snapshots {
		num(" snapshot ", int64(s.ID.End))
		num("-", int64(s.ID.Epoch))
	}
	if s := &r.receiving; s.id != NoSnapshot {
		num(" fetching ", int64(s.id.End))
		num("-", int64(s.id.Epoch))
		num(" position ", s.position)
	}
	b = append(b, " voters"...)
	for _, v := range r.voters {
		num(" ", int64(v.ID))
	}
	num(" of offset ", int64(r.voterSet.Offset))
	first := uint64(0)
	if r.inputs > remembered {
		first = r.inputs - remembered
	}
	num("\nlast inputs, from number ", int64(first))
	for i := first; i < r.inputs; i++ {
		m := &r.memory[i%remembered]
		num("\n  at ", int64(m.now))
		b = append(b, ' ')
		b = append(b, inputNames[m.input.Kind]...)
		switch m.input.Kind {
		case InputRequest, InputResponse, InputRequestFailed, InputDisconnected:
			num(" conn ", int64(m.input.Conn))
			num(" peer ", int64(m.input.Peer))
			num(" correlation ", int64(m.input.Correlation))
		case InputFlushed:
			num(" flush ", int64(m.input.Flush))
			num(" end ", int64(m.input.End))
		case InputAppend, InputRead:
			num(" client ", int64(m.input.Client))
		case InputSnapshotTaken, InputSnapshotVerified, InputAdvanceLogStart:
			num(" snapshot ", int64(m.input.SnapshotID.End))
			num("-", int64(m.input.SnapshotID.Epoch))
			num(" size ", m.input.Size)
			num(" transfer ", m.input.Transfer)
			num(" error ", int64(m.input.Error))
		}
		if m.input.Kind >= InputAddVoter {
			num(" client ", int64(m.input.Client))
			num(" voter ", int64(m.input.Voter.Key.ID))
			num(" epoch ", int64(m.input.Epoch))
			num(" peer ", int64(m.input.Peer))
			num(" error ", int64(m.input.Error))
		}
		if m.input.Message != nil {
			msg := &m.message
			b = append(b, ' ')
			b = append(b, msg.Kind.String()...)
			num(" from ", int64(msg.From.ID))
			num(" epoch ", int64(msg.Epoch))
			num(" leader ", int64(msg.Leader))
			num(" error ", int64(msg.Error))
			num(" offset ", int64(msg.Offset))
			num(" last epoch ", int64(msg.LastEpoch))
			num(" high watermark ", int64(msg.HighWatermark))
			num(" diverging ", int64(msg.Diverging.Epoch))
			num(":", int64(msg.Diverging.End))
			num(" snapshot ", int64(msg.SnapshotID.End))
			num("-", int64(msg.SnapshotID.Epoch))
			num(" position ", msg.Position)
			num(" of ", msg.Size)
			b = strconv.AppendBool(append(b, " prevote "...), msg.PreVote)
			b = strconv.AppendBool(append(b, " granted "...), msg.Granted)
		}
	}
	return string(b)
}

var inputNames = [...]string{"Tick", "Request", "Response", "RequestFailed", "Disconnected",
	"Flushed", "Append", "Read", "Resign", "SnapshotTaken", "SnapshotVerified", "AdvanceLogStart",
	"AddVoter", "VoterChecked", "RemoveVoter", "UpdateVoter", "Bootstrap"}
