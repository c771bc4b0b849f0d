package wire

import "reflect"

const armsWanted = "want exactly one of cancelled, value, confirmed, answers"

// answerBody is an answer as it crosses: at most one of the arms may be there.
type answerBody struct {
	ID        string            `json:"id"`
	Cancelled *bool             `json:"cancelled,omitempty"`
	Value     *Secret           `json:"value,omitempty"`
	Confirmed *bool             `json:"confirmed,omitempty"`
	Answers   *[]QuestionAnswer `json:"answers,omitempty"`
}

// DecodeAnswer reads an answer strictly. What is no answer at all is a *Failure
// of code bad-request (see [DecodeStrict]). One with no arm, with two at once,
// with cancelled false or with an empty id is well-formed and refused: code
// invalid.
func DecodeAnswer(b []byte) (Answer, error) {
	body, err := DecodeStrict[answerBody](b)
	if err != nil {
		return Answer{}, err
	}
	if body.ID == "" {
		return Answer{}, Errorf(CodeInvalid, "id: empty")
	}
	var arms []AnswerArm
	if body.Cancelled != nil {
		arms = append(arms, &CancelArm{})
	}
	if body.Value != nil {
		arms = append(arms, &ValueArm{*body.Value})
	}
	if body.Confirmed != nil {
		arms = append(arms, &ConfirmArm{*body.Confirmed})
	}
	if body.Answers != nil {
		arms = append(arms, &AnswersArm{*body.Answers})
	}
	switch {
	case len(arms) != 1:
		return Answer{}, Errorf(CodeInvalid, "%s, got %d", armsWanted, len(arms))
	case body.Cancelled != nil && !*body.Cancelled:
		return Answer{}, Errorf(CodeInvalid, "cancelled: only true declines")
	}
	return Answer{ID: body.ID, Arm: arms[0]}, nil
}

// EncodeAnswer renders an answer for the host that waits for it. It is the one
// encoder that reveals a value. An answer without an arm is refused: code
// invalid.
func EncodeAnswer(a Answer) ([]byte, error) { return encodeAnswer(a, true) }

// MarshalJSON is the answer with its value redacted; [EncodeAnswer] reveals it.
func (a Answer) MarshalJSON() ([]byte, error) { return encodeAnswer(a, false) }

// UnmarshalJSON is [DecodeAnswer].
func (a *Answer) UnmarshalJSON(b []byte) error {
	v, err := DecodeAnswer(b)
	if err == nil {
		*a = v
	}
	return err
}

func encodeAnswer(a Answer, reveal bool) ([]byte, error) {
	arm, word := armOf(a.Arm)
	if arm == nil {
		return nil, Errorf(CodeInvalid, "%s, got 0", armsWanted)
	}
	dst := appendString([]byte(`{"id":`), a.ID)
	dst = append(append(append(dst, `,"`...), word...), `":`...)
	switch arm := arm.(type) {
	case *CancelArm:
		dst = append(dst, "true"...)
	case *ValueArm:
		text := Redacted
		if reveal {
			text = arm.Value.Reveal()
		}
		dst = appendString(dst, text)
	case *ConfirmArm:
		dst, _ = appendTo(dst, arm.Confirmed) // a boolean always encodes
	case *AnswersArm:
		v := reflect.ValueOf(arm.Answers)
		var err error
		if dst, err = encode(dst, v, schemaOf(v.Type())); err != nil {
			return nil, Errorf(CodeInternal, "encode answer: %v", err)
		}
	}
	return append(dst, '}'), nil
}

// armOf is arm with its name on the wire, nil when it is none.
func armOf(arm AnswerArm) (AnswerArm, string) {
	switch a := arm.(type) {
	case *CancelArm:
		if a != nil {
			return a, "cancelled"
		}
	case *ValueArm:
		if a != nil {
			return a, "value"
		}
	case *ConfirmArm:
		if a != nil {
			return a, "confirmed"
		}
	case *AnswersArm:
		if a != nil {
			return a, "answers"
		}
	}
	return nil, ""
}
