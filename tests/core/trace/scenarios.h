// SPDX-License-Identifier: Apache-2.0
// Runs of the traversal on small graphs, written by hand from the steps of the algorithm.
#pragma once

#include "tests/core/trace/script.h"

namespace retro::trace::test
{

/// y = (a + b) + c: a promise under a promise. Visits: y, s, a, b, c.
inline Script nestedAdd()
{
    Script script(graphOf({"a", "b", "c"}, {{"s", "Add", {"a", "b"}}, {"y", "Add", {"s", "c"}}}), 10);
    script.land("y", 0, 1, 0);
    script.push("y");

    script.visitNext("y", 0);
    script.newPromise(PromiseKind::Add, "y", 2);
    script.promiseRelevance(0, 0);
    script.landBranch("s", 0, 1, 0, 0, "y");
    script.landBranch("c", 0, 1, 0, 1, "y");
    script.push("c");
    script.push("s");

    script.visitNext("s");
    script.newPromise(PromiseKind::Add, "s", 2);
    script.addParent(1, 0, 0);
    script.argNode(0, 0, "s");
    script.addChild(0, 0, 1);
    script.landBranch("a", 0, 1, 1, 0, "s");
    script.landBranch("b", 0, 1, 1, 1, "s");
    script.push("b");
    script.push("a");

    script.visitNext("a");
    script.argNode(1, 0, "a");
    script.arg(1, 0, 1, "a");
    script.wait("a", 1, 0);

    script.visitNext("b");
    script.argNode(1, 1, "b");
    script.arg(1, 1, 2, "b");
    script.ready(1);
    script.arg(0, 0, 3);
    script.wait("b", 1, 1);

    script.visitNext("c");
    script.argNode(0, 1, "c");
    script.arg(0, 1, 4, "c");
    script.ready(0);
    script.rule("y", 0);
    script.branchRelevance(0, 0, 5);
    script.branchRelevance(0, 1, 6);
    script.complete(0);
    script.relevance("c", 6);
    script.relevance("s", 5);
    script.promiseRelevance(1, 5);
    script.rule("s", 1);
    script.branchRelevance(1, 0, 7);
    script.branchRelevance(1, 1, 8);
    script.complete(1);
    script.relevance("a", 7);
    script.resume("a");
    script.relevance("b", 8);
    script.resume("b");
    script.finished();
    return script;
}

/// y = h + relu(h·W), h = x·V: a residual connection. Visits: y, h (search), r, m, h, x, V, W.
inline Script residual()
{
    Script script(graphOf({"x", "V", "W"}, {{"h", "MatMul", {"x", "V"}, "trunk"},
                                            {"m", "MatMul", {"h", "W"}, "block"},
                                            {"r", "Relu", {"m"}, "block"},
                                            {"y", "Add", {"h", "r"}, "block"}}),
                  14);
    script.land("y", 0, 1, 0);
    script.push("y");

    script.visitNext("y", 0);
    script.newPromise(PromiseKind::Add, "y", 2);
    script.promiseRelevance(0, 0);
    script.landBranch("h", 0, 2, 0, 0, "y");
    script.landBranch("r", 0, 1, 0, 1, "y");
    script.push("r");
    script.push("h", 1);

    script.visit(Mode::Search, "h");
    script.pop("h", 1);
    script.newPromise(PromiseKind::Pre, "h", 1, false);
    script.addParent(1, 0, 0, 0);
    script.argNode(0, 0, "h");
    script.argNode(1, 0, "h");
    script.arg(1, 0, 1, "h");
    script.ready(1);
    script.arg(0, 0, 1);
    script.wait("h", 1, 0);
    script.enqueue("h");

    script.visitNext("r");
    script.argNode(0, 1, "r");
    script.arg(0, 1, 2, "r");
    script.ready(0);
    script.rule("y", 0);
    script.branchRelevance(0, 0, 3);
    script.branchRelevance(0, 1, 4);
    script.complete(0);
    script.relevance("r", 4);
    script.rule("r");
    script.land("m", 0, 1, 5, "r");
    script.push("m");

    script.visitNext("m", 5);
    script.rule("m");
    script.land("h", 1, 2, 6, "m");
    script.land("W", 0, 1, 7, "m");
    script.push("W");

    script.visit(Mode::Normal, "h");
    script.dequeue("h", 0);
    script.addChild(0, 0, 1);
    script.open(1);
    script.take("h", 0);
    script.take("h", 1);
    script.relevance("h", 8);
    script.promiseRelevance(1, 8);
    script.branchRelevance(1, 0, 8);
    script.complete(1);
    script.resume("h");
    script.rule("h");
    script.land("x", 0, 1, 9, "h");
    script.land("V", 0, 1, 10, "h");
    script.push("V");
    script.push("x");

    const std::vector<std::string> leaves{"x", "V", "W"};
    const std::vector<std::uint32_t> handles{9, 10, 7};
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        script.visitNext(leaves[i], handles[i]);
    }
    script.finished();
    return script;
}

/// h = relu x, c = hᵀ, e = cᵀ, a = e + u, f = relu c, b = relu e, y = (a·f)·b: a Pre-Promise under a Pre-Promise; the
/// lower one fans in first. Visits: y, m1, a, e (search), c (search), h, u, f, c, b, e, h (fulfilled), c, x.
inline Script stackedPrePromises()
{
    Script script(graphOf({"x", "u"}, {{"h", "Relu", {"x"}},
                                       {"c", "Transpose", {"h"}},
                                       {"e", "Transpose", {"c"}},
                                       {"a", "Add", {"e", "u"}},
                                       {"f", "Relu", {"c"}},
                                       {"b", "Relu", {"e"}},
                                       {"m1", "Mul", {"a", "f"}},
                                       {"y", "Mul", {"m1", "b"}}}),
                  24);
    script.land("y", 0, 1, 0);
    script.push("y");

    script.visitNext("y", 0);
    script.rule("y");
    script.land("m1", 0, 1, 1, "y");
    script.land("b", 0, 1, 2, "y");
    script.push("b");
    script.push("m1");

    script.visitNext("m1", 1);
    script.rule("m1");
    script.land("a", 0, 1, 3, "m1");
    script.land("f", 0, 1, 4, "m1");
    script.push("f");
    script.push("a");

    script.visitNext("a", 3);
    script.newPromise(PromiseKind::Add, "a", 2);
    script.promiseRelevance(0, 3);
    script.landBranch("e", 0, 2, 0, 0, "a");
    script.landBranch("u", 0, 1, 0, 1, "a");
    script.push("u");
    script.push("e", 1);

    script.visit(Mode::Search, "e");
    script.pop("e", 1);
    script.newPromise(PromiseKind::Pre, "e", 1, false);
    script.addParent(1, 0, 0);
    script.argNode(0, 0, "e");
    script.record(1, 0, "e");
    script.landBranch("c", 0, 2, 1, 0, "e");
    script.push("c", 1);

    script.visit(Mode::Search, "c");
    script.pop("c", 1);
    script.newPromise(PromiseKind::Pre, "c", 1, false);
    script.addParent(2, 1, 0);
    script.argNode(1, 0, "c");
    script.record(2, 0, "c");
    script.landBranch("h", 0, 1, 2, 0, "c");
    script.push("h");

    script.visitNext("h");
    script.argNode(2, 0, "h");
    script.arg(2, 0, 5, "h");
    script.ready(2);
    script.arg(1, 0, 6);
    script.ready(1);
    script.arg(0, 0, 7);
    script.wait("h", 2, 0);
    script.enqueue("h");

    script.visitNext("u");
    script.argNode(0, 1, "u");
    script.arg(0, 1, 8, "u");
    script.ready(0);
    script.rule("a", 0);
    script.branchRelevance(0, 0, 9);
    script.branchRelevance(0, 1, 10);
    script.complete(0);
    script.relevance("u", 10);

    script.visitNext("f", 4);
    script.rule("f");
    script.land("c", 1, 2, 11, "f");
    script.push("c");

    script.visit(Mode::Normal, "c");
    script.pop("c");
    script.addChild(1, 0, 2);
    script.open(2);
    script.enqueue("c");

    script.visitNext("b", 2);
    script.rule("b");
    script.land("e", 1, 2, 12, "b");
    script.push("e");

    script.visit(Mode::Normal, "e");
    script.pop("e");
    script.addChild(0, 0, 1);
    script.open(1);
    script.take("e", 0);
    script.take("e", 1);
    script.relevance("e", 13);
    script.promiseRelevance(1, 13);
    script.branchRelevance(1, 0, 13);
    script.rule("e", 1);
    script.branchRelevance(1, 0, 14);
    script.complete(1);
    script.take("c", 0);
    script.take("c", 1);
    script.relevance("c", 15);
    script.promiseRelevance(2, 15);
    script.branchRelevance(2, 0, 15);
    script.rule("c", 2);
    script.branchRelevance(2, 0, 16);
    script.complete(2);
    script.relevance("h", 16);

    script.visit(Mode::Fulfilment, "h");
    script.dequeue("h", 0);
    script.resume("h");
    script.rule("h");
    script.land("x", 0, 1, 17, "h");
    script.push("x");

    script.visit(Mode::Normal, "c");
    script.dequeue("c", 0);

    script.visitNext("x", 17);
    script.finished();
    return script;
}

} // namespace retro::trace::test
