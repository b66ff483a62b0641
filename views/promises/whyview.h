// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/promises/promiseforest.h"

namespace retro::views
{

class WhyPane;

/// Why the selected promise waits, or why the selected node is not visited (with nothing selected, the promise that was
/// opened last): what is there, what is missing and whose it
/// is, and jumps to the steps that matter.
class WhyView final : public View
{
    Q_OBJECT

public:
    WhyView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Why is it waiting?"); }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] WhyPane& pane() const { return *m_pane; }

public slots:
    /// Moves the cursor to where the promise on show is opened, or fulfilled (a node: visited next).
    void goToOpening();
    void goToFulfilment();

protected:
    void refresh(Changes changes) override;

private:
    void selectNode();
    /// What the pane is about: the selection, else the promise that waits and was opened last, else the current node.
    [[nodiscard]] SelectedThing subjectThing() const;

    std::shared_ptr<const PromiseForest> m_forest = std::make_shared<const PromiseForest>();
    WhyPane* m_pane = nullptr;
};

} // namespace retro::views
