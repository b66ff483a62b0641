// SPDX-License-Identifier: Apache-2.0
#include "app/cli/gradientverbs.h"
#include "app/common/freedmemory.h"
#include "app/common/passivewaiting.h"
#include "core/base/failure.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

/// Before any library is loaded, see passivewaiting.h.
[[gnu::section(".preinit_array"),
  gnu::used]] static void (*beforeLibraries)(int, char**, char**) = &retro::app::PassiveWaiting::waitPassively;

int main(int argc, char** argv)
{
    retro::app::PassiveWaiting::giveBack(environ);
    retro::app::keepFreedMemory();
    using namespace retro::app;
    Context context;
    context.arguments.assign(argv, argv + argc);
    CLI::App program("Retrograde without a window: explains what a network's prediction rests on, step by step.",
                     "retrograde-cli");
    program.set_version_flag("--version", std::string("retrograde-cli " RETRO_VERSION));
    program.require_subcommand(1);
    addOps(program, context);
    addInfo(program, context);
    addRun(program, context);
    addExplain(program, context);
    addGrad(program, context);
    addVerify(program, context);
    addTrace(program, context);
    addAudit(program, context);
    addCompare(program, context);
    addEvaluate(program, context);
    addExport(program, context);
    addLut(program, context);
    addAnalyze(program, context);
    addPlan(program, context);
    addSimulate(program, context);
    addBench(program, context);
    try {
        program.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const int code = program.exit(error);
        return code == 0 ? 0 : 2;
    } catch (...) {
        const retro::base::Error error = retro::base::errorBeingHandled();
        std::fprintf(stderr, "retrograde-cli: %s%s%s\n", error.where.c_str(), error.where.empty() ? "" : ": ",
                     error.message.c_str()); // takes no memory
        return exitCodeOf(error.code);
    }
    return context.exitCode;
}
