use "used"
