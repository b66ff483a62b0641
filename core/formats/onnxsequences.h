// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::onnxschema
{
class ModelProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// Lists of tensors that are taken apart where they are made become plain nodes: SequenceAt of SplitToSequence →
/// Gather, SequenceAt of SequenceConstruct with a constant position → the operand, ConcatFromSequence of
/// SequenceConstruct → Concat, SequenceLength of SequenceConstruct → its number. Lists that nobody reads then go.
/// Others stay, and are refused by name.
void unpackSequences(onnxschema::ModelProto& model);

} // namespace retro::formats
