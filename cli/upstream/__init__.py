"""``./study compare-upstream``: the article's own collectors as arms beside ours."""
