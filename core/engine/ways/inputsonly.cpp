// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/inputsonly.h"

namespace retro::engine
{

base::Result<execute::ForwardResult> InputsOnlyWay::forward(Pass& pass)
{
    return m_inputs.forward(pass.result.model, pass.inputs, pass.targets, pass.stop, pass.progressOf("forward"));
}

base::Result<void> InputsOnlyWay::run(Pass& pass)
{
    RETRO_CHECK(m_inputs.run(pass.forward->saved, pass.starts, pass.stop, pass.progressOf("relevance"), pass.result));
    takeProgram(*m_known.course, pass);
    return {};
}

} // namespace retro::engine
