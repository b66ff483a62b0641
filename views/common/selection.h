// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"

#include <QObject>

#include <optional>
#include <variant>

namespace retro::views
{

/// What is pointed at: nothing, a node, a value (tensor edge), or a promise.
using SelectedThing = std::variant<std::monostate, base::NodeId, base::ValueId, base::PromiseId>;

/// What: the thing that the user points at. Independent of the cursor: selecting never moves time. GUI thread, one per
/// window.
class Selection final : public QObject
{
    Q_OBJECT

public:
    explicit Selection(QObject* parent = nullptr) : QObject(parent) {}

    [[nodiscard]] const SelectedThing& thing() const { return m_thing; }
    [[nodiscard]] bool isEmpty() const { return std::holds_alternative<std::monostate>(m_thing); }
    [[nodiscard]] std::optional<base::NodeId> node() const { return as<base::NodeId>(); }
    [[nodiscard]] std::optional<base::ValueId> value() const { return as<base::ValueId>(); }
    [[nodiscard]] std::optional<base::PromiseId> promise() const { return as<base::PromiseId>(); }

public slots:
    void selectNode(retro::base::NodeId node) { set(node); }
    void selectValue(retro::base::ValueId value) { set(value); }
    void selectPromise(retro::base::PromiseId promise) { set(promise); }
    void clear() { set(std::monostate{}); }

public:
    /// Silent when it is selected already.
    void set(SelectedThing thing);

signals:
    void changed();

private:
    template <class T>
    [[nodiscard]] std::optional<T> as() const
    {
        const T* found = std::get_if<T>(&m_thing);
        return found != nullptr ? std::optional<T>(*found) : std::nullopt;
    }
    SelectedThing m_thing;
};

} // namespace retro::views
