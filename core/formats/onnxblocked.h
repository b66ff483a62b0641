// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/inlinedfunction.h"

#include <filesystem>
#include <vector>

namespace retro::onnxschema
{
class ModelProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// True when unblockChannels() has something to do.
[[nodiscard]] bool hasBlockedChannels(const onnxschema::ModelProto& model);

/// ONNX Runtime's optimiser lays channels out in blocks of the width of a machine's registers (domain
/// com.microsoft.nchwc). The same network in the layout of the standard takes its place: weights in order, without the
/// channels that fill blocks up; nodes that change the layout hand their operand on. A file does not say how wide its
/// blocks are: where its extents do not tell, the width is that of this machine, as onnxruntime takes it, and `notes`
/// says so. Before inlineFunctions(). Errors (Input): weights that are computed or do not fit; an unknown operator.
[[nodiscard]] base::Result<void> unblockChannels(onnxschema::ModelProto& model, const std::filesystem::path& folder,
                                                 std::vector<InlinedFunction>* notes);

} // namespace retro::formats
