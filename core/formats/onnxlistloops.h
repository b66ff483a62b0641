// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::onnxschema
{
class ModelProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// Lists of tensors that grow become lists that are made at once: SequenceInsert at the end of a list that is known, or
/// at a constant place, is a SequenceConstruct. Loops that carry such a list, go a constant number of times and never
/// stop before are written out, pass after pass (how PyTorch's older exporter writes tensor_split). Others stay.
void writeOutListLoops(onnxschema::ModelProto& model);

} // namespace retro::formats
